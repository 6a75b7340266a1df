package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Evidence is the result of a check, together with the orders that porcupine tried. A report can draw these orders.
type Evidence struct {
	Answer Answer
	Ops    int
	model  porcupine.Model
	info   porcupine.LinearizationInfo
}

// evidence checks ops with a model that has a budget. The Evidence contains full, the same model without a budget,
// because drawing repeats steps that must not count against the budget.
func evidence(full porcupine.Model, budgeted func(*budget) porcupine.Model, ops []porcupine.Operation) *Evidence {
	b := budgetFor(len(ops), maxSteps)
	result, info := porcupine.CheckOperationsVerbose(budgeted(&b), ops, 0)
	return &Evidence{Answer: b.answer(result == porcupine.Ok), Ops: len(ops), model: full, info: info}
}

// WriteHTML writes porcupine's interactive drawing as a single page that works offline. The page shows one line per
// client, the operations with their calls and returns, and the longest orders found. The same evidence always gives the
// same page, byte for byte.
func (e *Evidence) WriteHTML(w io.Writer) error {
	var page bytes.Buffer
	if err := porcupine.Visualize(e.model, e.info, &page); err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	before, rest, found := bytes.Cut(page.Bytes(), []byte(dataMark))
	data, after, ended := bytes.Cut(rest, []byte("\n"))
	if !found || !ended {
		return errors.New("linear: porcupine's page has no data line")
	}
	data, err := inOrder(data)
	if err != nil {
		return fmt.Errorf("linear: porcupine's page: %w", err)
	}
	for _, part := range [][]byte{before, []byte(dataMark), data, []byte("\n"), after} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// dataMark is the text that precedes the drawing's data on porcupine's page.
const dataMark = "const data = "

// drawing is the part of porcupine's data that must be sorted.
type drawing struct {
	Partitions []struct {
		History               json.RawMessage
		PartialLinearizations [][]struct {
			Index            int
			StateDescription string
		}
		Largest map[int]int
	}
	Annotations json.RawMessage
}

// inOrder sorts the orders that porcupine found: longest first, then by content. Porcupine lists them in the random
// order of a Go map.
func inOrder(data []byte) ([]byte, error) {
	var d drawing
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	for _, p := range d.Partitions {
		slices.SortFunc(p.PartialLinearizations, func(a, b []struct {
			Index            int
			StateDescription string
		}) int {
			if len(a) != len(b) {
				return len(b) - len(a)
			}
			for i := range a {
				if a[i].Index != b[i].Index {
					return a[i].Index - b[i].Index
				}
			}
			return 0
		})
		clear(p.Largest)
		for i, order := range p.PartialLinearizations {
			for _, s := range order {
				if _, known := p.Largest[s.Index]; !known {
					p.Largest[s.Index] = i
				}
			}
		}
	}
	return json.Marshal(d)
}
