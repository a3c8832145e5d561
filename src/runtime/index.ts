export { type PartName, partNames, startParts } from './start-parts.js'
export { type SystemPart, startSystem, systemParts } from './start-system.js'
