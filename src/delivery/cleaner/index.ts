export { startCleaner } from './start-cleaner.js'
