export { describeSystem } from './describe-system.js'
