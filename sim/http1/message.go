package http1

import (
	"fmt"
	"strconv"
	"strings"
)

// Request is an HTTP request, reduced to the parts that affect the reply.
type Request struct {
	Method      string
	URI         string // path and query
	ContentType string
	Accept      string
	Body        string
}

// Word is the first argument of a simulated request that contains a Request.
const Word = "HTTP"

// Args encodes r as a simulated request's arguments.
func (r *Request) Args() []string {
	return []string{Word, r.Method, r.URI, r.ContentType, r.Accept, r.Body}
}

// Read decodes the Request in a simulated request's arguments. ok is false if there is none.
func Read(args []string) (r Request, ok bool) {
	if len(args) != 6 || args[0] != Word {
		return r, false
	}
	return Request{args[1], args[2], args[3], args[4], args[5]}, true
}

// phrases contains the status texts from net/http, which simulated code must not import.
var phrases = map[int]string{200: "OK", 201: "Created", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
	406: "Not Acceptable", 409: "Conflict", 410: "Gone", 413: "Request Entity Too Large",
	415: "Unsupported Media Type", 422: "Unprocessable Entity", 500: "Internal Server Error", 501: "Not Implemented"}

// Head returns a reply's status line, followed by the given header fields, each written as "Name: value".
func Head(code int, fields ...string) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", code, phrases[code])
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head
}

// Reply returns a complete reply: its head, with the given header fields and a Content-Length, and its body.
func Reply(code int, body []byte, fields ...string) []byte {
	head := Head(code, append(fields, "Content-Length: "+strconv.Itoa(len(body)))...)
	return append([]byte(head+"\r\n"), body...)
}

// fieldsOf returns the header fields, keyed by their names in lower case. It returns nil if any of the lines is not a
// header field.
func fieldsOf(lines []string) map[string]string {
	fields := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil
		}
		fields[strings.ToLower(name)] = strings.TrimSpace(value)
	}
	return fields
}
