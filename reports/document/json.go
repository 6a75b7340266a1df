package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
)

// schemaName is what every JSON document says under schema: which edition of the schema it keeps to (Schema).
const schemaName = "fencepost/1"

// Head begins every JSON document.
type Head struct {
	Schema  string `json:"schema"`
	Command string `json:"command"` // that has made it
}

func (h *Head) setHead(of Head) { *h = of }

// headed is a JSON object that embeds Head.
type headed interface{ setHead(Head) }

// Encode gives a document as one line, ended by a newline. In it "client-1 -> redis-1" stays readable.
func Encode(document any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(document); err != nil {
		return nil, fmt.Errorf("reports: %w", err)
	}
	return b.Bytes(), nil
}

// Some is a list that is never null.
func Some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Texts are what things print themselves as; never null.
func Texts[T fmt.Stringer](list []T) []string {
	all := []string{}
	for _, x := range list {
		all = append(all, x.String())
	}
	return all
}

// LawNames are those of laws; never null.
func LawNames(laws []checker.Law) []string {
	all := []string{}
	for _, l := range laws {
		all = append(all, string(l))
	}
	return all
}
