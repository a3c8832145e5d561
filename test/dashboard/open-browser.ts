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
    // Of the C locale, Chromium makes a language that its own Intl does not take.
    env: { ...process.env, LANG: 'en_GB.UTF-8', LC_ALL: 'en_GB.UTF-8', LANGUAGE: 'en_GB' },
  })
}
