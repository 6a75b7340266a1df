package site

import (
	"os/exec"
	"runtime"
)

// OpenInBrowser opens an address by the system's own command.
func OpenInBrowser(address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.Command(command[0], append(command[1:], address)...).Start()
}
