package resp

import (
	"bytes"
	"strconv"
	"strings"
)

// Bulks are the elements of a flat array of bulk strings.
func Bulks(reply string) []string {
	_, rest, _ := strings.Cut(reply, "\r\n")
	var list []string
	for rest != "" {
		size := BulkSize([]byte(rest))
		if size == 0 {
			return list
		}
		_, item, _ := strings.Cut(rest[:size-2], "\r\n")
		list = append(list, item)
		rest = rest[size:]
	}
	return list
}

// BulkSize is the number of bytes of the bulk string at the start of b; 0 if there is none.
func BulkSize(b []byte) int {
	line := bytes.IndexByte(b, '\n')
	if b[0] != '$' || line < 2 {
		return 0
	}
	size, err := strconv.Atoi(string(b[1 : line-1]))
	if err != nil || size < 0 || line+1+size+2 > len(b) {
		return 0
	}
	return line + 1 + size + 2
}
