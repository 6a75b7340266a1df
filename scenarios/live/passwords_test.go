package live

import (
	"strings"
	"testing"
)

// TestPasswordsInCommandsAreHidden checks each way in which a command may contain a password, and that other words
// remain, because the command must still be recognized.
func TestPasswordsInCommandsAreHidden(t *testing.T) {
	const bird = "kanarienvogel"
	for _, command := range []string{
		"worker redis://u:" + bird + "@h:1/0", "worker redis://:" + bird + "@h",
		"worker --url=rediss://" + bird + "@h x",
		"worker --password " + bird, "worker --password=" + bird, "worker -password=" + bird,
		"worker --Password " + bird,
		"worker --redis-password=" + bird, "worker --redis_password=" + bird, "worker --pass " + bird,
		"worker --auth-token " + bird, "worker --secret='" + bird + " " + bird + "'", `worker --pw "` + bird + `"`,
		"env REDIS_PASSWORD=" + bird + " worker", "REDISCLI_AUTH=" + bird + " worker",
		"CONSUL_HTTP_TOKEN=" + bird + " w",
		"PASSWORD='" + bird + " " + bird + "' worker", `sh -c "DB_PASSWD=` + bird + ` worker"`,
		"worker redis://h/0?password=" + bird + "&timeout=1", "worker h?auth=" + bird, "worker --api-key " + bird,
	} {
		if got := WithoutPasswords(command); strings.Contains(got, bird) || !strings.Contains(got, "w") ||
			!strings.Contains(got, "…") {
			t.Errorf("%s becomes %s", command, got)
		}
	}
	for _, command := range []string{
		"/usr/bin/python3 worker.py redis-py fenced", "worker --password-file secret.txt",
		"worker --ttl 5s --pass-through",
		`sh -c 'worker --password "$REDIS_PASSWORD"'`, "sh -c 'REDIS_PASSWORD=$SECRET worker'",
		"worker token=7 --token 7",
		"author=x worker --authors y", "worker --password --verbose", "http://host/path?key=1&compass=2",
	} {
		if got := WithoutPasswords(command); got != command {
			t.Errorf("%s becomes %s", command, got)
		}
	}
}
