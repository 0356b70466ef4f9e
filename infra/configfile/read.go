// Package configfile reads configuration files: one YAML 1.2 file or a folder of them, checked by the
// published JSON Schema and by what a schema cannot say.
//
// A file is refused with every fault at once, each with file, line, reason and remedy ([Faults]). What
// readers of YAML disagree about is refused too: doubled keys, tabs, tags, merge keys, numbers that are
// not plainly decimal, and unquoted yes, no, on and off. Values never appear in a fault, since what
// stands in a wrong place may be a secret.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engang/shared/config"
)

// A Source is a file that was read, or one that is built in.
type Source struct {
	Name string // for faults
	Text []byte
}

// Read reads files, and the files that end in .yaml or .yml of folders (not of folders in them), as one
// configuration. It returns [Faults] when they are refused, and another error when they cannot be read.
func Read(paths ...string) (config.Set, error) {
	var sources []Source
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return config.Set{}, fmt.Errorf("read configuration: %w", err)
		}
		for _, file := range files {
			text, err := load(file)
			if err != nil {
				return config.Set{}, fmt.Errorf("read configuration: %w", err)
			}
			sources = append(sources, Source{Name: file, Text: text})
		}
	}
	if len(sources) == 0 {
		return config.Set{}, errors.New("read configuration: no file that ends in .yaml or .yml")
	}
	return Parse(sources...)
}

// expand lists the files that a path stands for, in the order of their names.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

// load reads at most one byte more than a file may have.
func load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads sources as one configuration, as [Read] does with files.
func Parse(sources ...Source) (config.Set, error) {
	s, err := loadShape()
	if err != nil {
		return config.Set{}, err
	}
	var faults Faults
	var roots []*node
	for _, source := range sources {
		roots = append(roots, readYAML(source, &faults)...)
	}
	if len(roots) == 0 && len(faults) == 0 && len(sources) > 0 {
		faults = append(faults, Fault{File: sources[0].Name, Reason: "there is nothing in it", Remedy: "begin with version, tenant and environment"})
	}
	if len(roots) == 0 {
		return config.Set{}, faults
	}
	root := merge(roots, &faults)
	b := builder{root: root, faults: &faults}
	s.check(root, &b.shapes)
	faults = append(faults, b.shapes...)
	set := b.build()
	if len(faults) > 0 {
		faults.sort(sources)
		return config.Set{}, faults
	}
	return set, nil
}

// sections hold named parts, which may be spread over files.
var sections = []string{"providers", "endpoints", "recipes"}

// headers may be repeated in each file, and must say the same.
var headers = []string{"version", "tenant", "environment"}

// merge makes one mapping of several documents.
func merge(roots []*node, faults *Faults) *node {
	whole := &node{file: roots[0].file, line: roots[0].line, kind: mapping}
	for _, root := range roots {
		for _, e := range root.keys {
			i := slices.IndexFunc(whole.keys, func(w *entry) bool { return w.name == e.name })
			if i < 0 {
				whole.keys = append(whole.keys, copyEntry(e))
				continue
			}
			mergeEntry(whole.keys[i], e, faults)
		}
	}
	return whole
}

// copyEntry keeps the merge from changing what an anchor shares.
func copyEntry(e *entry) *entry {
	value := *e.value
	value.keys = slices.Clone(value.keys)
	return &entry{name: e.name, line: e.line, value: &value}
}

func mergeEntry(into, e *entry, faults *Faults) {
	at := &node{file: e.value.file, line: e.line}
	switch {
	case slices.Contains(headers, e.name):
		if into.value.kind != scalar || e.value.kind != scalar || into.value.value != e.value.value {
			faults.add(at, pointer(e.name), "it differs from what another document says", "one configuration is of one tenant and environment")
		}
	case slices.Contains(sections, e.name) && into.value.kind == mapping && e.value.kind == mapping:
		for _, part := range e.value.keys {
			if first, ok := into.value.child(part.name); ok {
				faults.add(&node{file: part.value.file, line: part.line}, pointer(e.name, part.name), fmt.Sprintf("it stands in %s, line %d, too", first.file, first.line), "keep one of them")
				continue
			}
			into.value.keys = append(into.value.keys, part)
		}
	default:
		faults.add(at, pointer(e.name), fmt.Sprintf("it stands in %s, line %d, too", into.value.file, into.line), "keep one of them")
	}
}
