export { createSealer, formFaultOf, type SealFault } from './create-sealer.js'
