// Package nearest suggests a word in place of a misspelt one. All messages that ask "did you mean" use it.
package nearest

import (
	"slices"
	"strings"
)

// longestNearest bounds the words that Word compares, in bytes: longer ones are no misspellings of a known word, and
// the comparison costs the product of the lengths.
const longestNearest = 64

// Word returns the choice that word was most likely meant to be: the one with the smallest edit distance, and of
// several the first. Case is ignored. It returns "" when no choice is near: when more than a third of the longer word
// (rounded up) differs, or all of it.
func Word(word string, choices []string) string {
	if all := nearest(word, choices); len(all) > 0 {
		return all[0]
	}
	return ""
}

// nearest returns the choices with the smallest edit distance.
func nearest(word string, choices []string) (all []string) {
	if word == "" || len(word) > longestNearest {
		return nil
	}
	folded := strings.ToLower(word)
	least := longestNearest + 1
	for _, choice := range choices {
		if len(choice) > longestNearest {
			continue
		}
		a, b := []rune(folded), []rune(strings.ToLower(choice))
		longer := max(len(a), len(b))
		d := distance(a, b)
		switch {
		case d > least || d == longer || d > (longer+2)/3:
		case d == least:
			all = append(all, choice)
		default:
			all, least = []string{choice}, d
		}
	}
	return all
}

// sameBeginning is how many letters two words of one meaning have in common: "extend" and "extension".
const sameBeginning = 4

// Meant returns all choices that a word may have been meant to be: those nearest to it, and those that contain it or
// that it contains, as with "lag" and "max-lag"; or else those with the same beginning. Case is ignored; a single
// letter does not count as contained.
func Meant(word string, choices []string) []string {
	all := nearest(word, choices)
	if len(word) < 2 || len(word) > longestNearest {
		return all
	}
	folded := strings.ToLower(word)
	like := func(is func(choice string) bool) {
		for _, choice := range choices {
			if is(strings.ToLower(choice)) && !slices.Contains(all, choice) {
				all = append(all, choice)
			}
		}
	}
	like(func(c string) bool {
		return strings.Contains(c, folded) || len(c) > 2 && strings.Contains(folded, c)
	})
	if len(all) == 0 && len(folded) >= sameBeginning {
		like(func(c string) bool { return strings.HasPrefix(c, folded[:sameBeginning]) })
	}
	return all
}

// distance is the Damerau-Levenshtein distance (optimal string alignment): how many insertions, deletions, replacements
// and swaps of neighbours turn a into b, where no part is edited twice.
func distance(a, b []rune) int {
	// before, last and row are the distances of a[:i-2], a[:i-1] and a[:i] to every beginning of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
