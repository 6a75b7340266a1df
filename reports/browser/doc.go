// Package browser tests the pages in a real browser. It is a separate module, so that nobody who builds fencepost has
// to compile the browser driver, github.com/chromedp/chromedp. The browser is chromium as packaged by Debian.
//
// In this folder, "go test ." runs the tests. With FENCEPOST_PICTURES=DIR, the tests also write a picture of each page
// to DIR. If there is no browser, the tests are skipped, unless FENCEPOST_FULL is set.
//
// Goals: every kind of page is opened in both themes, on a desktop screen and on a phone screen, and is used with
// mouse, touch and keyboard. Non-goals: what the pages say; the report tests cover that.
package browser
