package configfile

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"engang/shared/config"
	"engang/shared/recipe"
)

// A Head is what a file says of whose it is.
type Head struct {
	File        string
	Tenant      string   // empty: the file does not say, or cannot be read
	Environment string   // likewise
	Sections    []string // the keys at its top
	Faults      Faults   // why whose it is cannot be told; empty: it can
	Foreign     bool     // it is no configuration file, but YAML of something else
}

// own are the keys by which a file shows that it is a configuration file, whatever else is wrong with it.
var own = regexp.MustCompile(`(?m)^\x{feff}?["']?(tenant|endpoints|recipes)["']?[ \t]*:`)

// Heads reads the heads of the files that [Open] would take of a folder. A folder that is not there has
// none. It returns an error when the files cannot be read at all.
func Heads(folder string) ([]Head, error) {
	files, err := expand(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	var heads []Head
	for _, file := range files {
		text, err := load(file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		heads = append(heads, head(Source{Name: file, Text: text}))
	}
	return heads, nil
}

func head(s Source) Head {
	h := Head{File: s.Name, Foreign: !own.Match(s.Text)}
	if h.Foreign {
		return h
	}
	var faults Faults
	roots := readYAML(s, &faults)
	if len(roots) == 0 {
		h.Faults = faults
		return h
	}
	for _, root := range roots {
		for _, e := range root.keys {
			if !slices.Contains(h.Sections, e.name) {
				h.Sections = append(h.Sections, e.name)
			}
			switch e.name {
			case "tenant":
				h.say(e, &h.Tenant, recipe.IsName)
			case "environment":
				h.say(e, &h.Environment, func(text string) bool { return slices.Contains(config.Environments, text) })
			}
		}
	}
	return h
}

// say keeps one of the two texts by which a file says whose it is.
func (h *Head) say(e *entry, to *string, fit func(string) bool) {
	text, ok := e.value.value.(string)
	at := &node{file: h.File, line: e.line}
	switch {
	case !ok || !fit(text):
		h.Faults.add(at, pointer(e.name), "not of the form that is meant here", "correct it")
	case *to != "" && *to != text:
		h.Faults.add(at, pointer(e.name), "it differs from what another document of the file says", "one configuration is of one tenant and environment")
	default:
		*to = text
	}
}
