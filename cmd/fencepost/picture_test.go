package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pictureNode = regexp.MustCompile(`(\w+)\["([^"]*)"\]`)

// TestThePictureShowsTheImports holds the picture of the house to what the rooms import: every room stands in it, every
// arrow is one that some import goes along, and whatever a room imports can be reached along arrows.
func TestThePictureShowsTheImports(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```mermaid\n")
	picture, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("there is no picture")
	}
	rooms := map[string][]string{} // of each box
	for _, m := range pictureNode.FindAllStringSubmatch(picture, -1) {
		names, _, _ := strings.Cut(m[2], "<br/>")
		rooms[m[1]] = strings.Split(names, ", ")
	}
	box := map[string]string{} // of each room
	for name, list := range rooms {
		for _, room := range list {
			box[room] = name
			if _, known := arrows[room]; !known {
				t.Errorf("the picture shows %s, which is no room", room)
			}
		}
	}
	leads := map[string][]string{} // from box to box
	for line := range strings.Lines(pictureNode.ReplaceAllString(picture, "$1")) {
		steps := strings.Split(strings.TrimSpace(line), " --> ")
		for i := 1; i < len(steps); i++ {
			for _, from := range strings.Split(steps[i-1], " & ") {
				leads[from] = append(leads[from], strings.Split(steps[i], " & ")...)
			}
		}
	}
	imports := func(from, to string) bool {
		return slices.ContainsFunc(rooms[from], func(a string) bool {
			return slices.ContainsFunc(rooms[to], func(b string) bool { return slices.Contains(arrows[a], b) })
		})
	}
	for from, all := range leads {
		for _, to := range all {
			if !imports(from, to) {
				t.Errorf("the picture has an arrow from %s to %s, along which nothing is imported", from, to)
			}
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return from == to || slices.ContainsFunc(leads[from], func(next string) bool { return reaches(next, to) })
	}
	for room, all := range arrows {
		imported := false
		for _, others := range arrows {
			imported = imported || slices.Contains(others, room)
		}
		if box[room] == "" {
			if imported { // otherwise only tests do
				t.Errorf("the picture does not show %s", room)
			}
			continue
		}
		for _, other := range all {
			if box[other] != "" && !reaches(box[room], box[other]) {
				t.Errorf("%s imports %s, and the picture has no way there", room, other)
			}
		}
	}
}
