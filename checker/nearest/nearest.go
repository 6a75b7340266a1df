// Package nearest suggests known words for a misspelled word. All messages that ask "did you mean" use it.
package nearest

import (
	"slices"
	"strings"
)

// longestNearest is the maximum length in bytes of the words that Word compares. Longer words are unlikely to be
// misspellings, and comparing them takes too long: the time grows with the product of the lengths.
const longestNearest = 64

// Word returns the choice that word was most likely meant to be: the one with the smallest edit distance, or the first
// of these if there are several. Case is ignored. It returns "" if no choice is near. A choice is near if the edit
// distance is at most a third of the longer word's length (rounded up) and less than that length.
func Word(word string, choices []string) string {
	if all := nearest(word, choices); len(all) > 0 {
		return all[0]
	}
	return ""
}

// nearest returns the choices with the smallest edit distance, unless they are too far from word (see Word).
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

// sameBeginning is the number of initial letters that related words have in common, for example "extend" and
// "extension".
const sameBeginning = 4

// Meant returns all the choices that a word might stand for. These are the nearest choices, and those that contain the
// word or are contained in it, as with "lag" and "max-lag". If there are none, it returns the choices with the same
// beginning. Case is ignored. One-letter words, and choices of fewer than three letters, do not count as contained in
// another word.
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

// distance returns the Damerau-Levenshtein distance (optimal string alignment): how many insertions, deletions,
// replacements and swaps of neighboring letters turn a into b, if no part is edited twice.
func distance(a, b []rune) int {
	// before, last and row are the distances from a[:i-2], a[:i-1] and a[:i] to each prefix of b.
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
