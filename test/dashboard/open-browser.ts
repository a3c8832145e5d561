import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

/** The Chromium that comes as an npm package: nothing is downloaded, nothing must be installed. */
export async function openBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    args: chromium.args.filter(
      (each) => !each.startsWith('--disable-web-security') && each !== '--single-process',
    ),
    headless: true,
  })
}
