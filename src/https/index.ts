export {
  connectionSettings,
  createWebhookSender,
  type WebhookSender,
} from './create-webhook-sender.js'
export { deliveryErrorCodes } from './delivery-errors.js'
export { makeCertificate, type ServerCertificate } from './make-certificate.js'
export { parseAllowedCidrs } from './parse-allowed-cidrs.js'
export { refuseCallbackUrl } from './refuse-callback-url.js'
export { refuseHeaders } from './refuse-headers.js'
export type { WebhookOutcome, WebhookRequest } from './send-request.js'
export { signatureHeaders } from './sign-request.js'
export {
  formatSecret,
  generateSecret,
  publicKeyOf,
  type SigningSecret,
} from './signing-secret.js'
