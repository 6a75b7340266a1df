// Package browser holds the tests of the pages in a real browser. It is a module of its own, so that nobody who builds
// fencepost has to compile what drives the browser: github.com/chromedp/chromedp, and chromium as Debian packages it.
//
// In this folder "go test ." runs them, and with FENCEPOST_PICTURES=DIR leaves a picture of each page in DIR. Without a
// browser they are skipped, unless FENCEPOST_FULL is set.
//
// Goals: every kind of page is opened in both themes, on a wide screen and on a phone's, and is used by mouse, touch
// and keyboard.
// Non-goals: what the pages say, which the tests of reports hold.
package browser
