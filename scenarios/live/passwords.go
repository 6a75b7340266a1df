package live

import "regexp"

// userinfo matches the user and password in a URL.
var userinfo = regexp.MustCompile(`(://)[^/\s"'@]*@`)

// secrets matches a flag or a variable that contains a password, and its value: --password X, --redis-auth=X,
// REDIS_PASSWORD=X, and the query of a URL. A value that begins with "$" only names a variable.
var secrets = regexp.MustCompile(`(?i)(` +
	`(?:^|[\s"'])--?(?:[\w-]*-)?` + secretWord + `(?:=|\s+)` + // a flag
	`|\b(?:[a-z]\w*_)?` + secretWord + `=` + // a variable, or a part of a query
	`|\b[a-z]\w*_token=)` + // a bare "token" is a fencing token
	`("[^"$][^"]*"|'[^'$][^']*'|[^\s"'&;$-][^\s"'&;]*)`)

const secretWord = `(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|auth|credentials?|api[-_]?key|` +
	`(?:auth|access|acl)[-_]token)`

// Hidden is what WithoutPasswords writes in place of a password.
const Hidden = "…"

// WithoutPasswords returns text with passwords replaced by Hidden: the user and password of each URL, and the values of
// flags and variables whose names say that they are passwords.
func WithoutPasswords(text string) string {
	return secrets.ReplaceAllString(userinfo.ReplaceAllString(text, "${1}"+Hidden+"@"), "${1}"+Hidden)
}
