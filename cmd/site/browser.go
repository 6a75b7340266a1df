package site

import (
	"errors"
	"fmt"
	"html"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/scenarios/temporary"
)

// opener returns the operating system's command for opening a file in the browser.
func opener() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// OpenInBrowser opens a URL that contains a secret, using the operating system's command for opening files. Other users
// of the machine can read that command's arguments. So its argument is not the URL, but a file that redirects to the
// URL and that only this user may read. The caller must call end to remove the file.
func OpenInBrowser(address string) (end func() error, err error) {
	folder, err := temporary.New()
	if err != nil {
		return nil, err
	}
	end = folder.Close
	path := filepath.Join(folder.Path(), "open.html")
	if err := leadTo(address, path); err != nil {
		return nil, errors.Join(err, end())
	}
	command := append(opener(), path)
	if err := exec.Command(command[0], command[1:]...).Start(); err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// leadTo writes a page that redirects to the given URL.
func leadTo(address, path string) error {
	file, err := safefile.Create(path, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Fencepost</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%[1]s"></head><body><a href="%[1]s">Open the page</a></body></html>
`, html.EscapeString(address))
	return errors.Join(err, file.Close())
}
