package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
)

// schemaName is the value of the "schema" field in every JSON document. It identifies the version of the schema (see
// Schema).
const schemaName = "fencepost/1"

// Head has the fields that every JSON document begins with.
type Head struct {
	Schema  string `json:"schema"`
	Command string `json:"command"` // the command that produced the document
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

// Some returns the given list, or an empty list instead of nil, so that JSON shows [] rather than null.
func Some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Texts returns the elements of a list as strings. The result is never nil.
func Texts[T fmt.Stringer](list []T) []string {
	all := []string{}
	for _, x := range list {
		all = append(all, x.String())
	}
	return all
}

// LawNames returns the names of laws. The result is never nil.
func LawNames(laws []checker.Law) []string {
	all := []string{}
	for _, l := range laws {
		all = append(all, string(l))
	}
	return all
}
