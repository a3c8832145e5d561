export { createNotifier, type Notifier } from './notify-processes.js'
export { partNames } from './start-parts.js'
export { type System, type SystemPart, startSystem, systemParts } from './start-system.js'
