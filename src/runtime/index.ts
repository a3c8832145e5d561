export { type PartName, partNames, startParts } from './start-parts.js'
