package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
)

// schemaName is the value of "schema" in every JSON document. It names the edition of the schema (see Schema).
const schemaName = "fencepost/1"

// Head is the beginning of every JSON document.
type Head struct {
	Schema  string `json:"schema"`
	Command string `json:"command"` // the command that made the document
}

func (h *Head) setHead(of Head) { *h = of }

// headed is implemented by structs that embed Head.
type headed interface{ setHead(Head) }

// Encode returns a document as one line of JSON, followed by a newline. It does not escape <, > and &, so that
// "client-1 -> redis-1" stays readable.
func Encode(document any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(document); err != nil {
		return nil, fmt.Errorf("reports: %w", err)
	}
	return b.Bytes(), nil
}

// Some returns list, or an empty list if it is nil, so that JSON never has null for it.
func Some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Texts returns the strings of a list of things; never nil.
func Texts[T fmt.Stringer](list []T) []string {
	all := []string{}
	for _, x := range list {
		all = append(all, x.String())
	}
	return all
}

// LawNames returns the names of laws; never nil.
func LawNames(laws []checker.Law) []string {
	all := []string{}
	for _, l := range laws {
		all = append(all, string(l))
	}
	return all
}
