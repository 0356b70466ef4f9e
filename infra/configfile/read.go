// Package configfile reads configuration files: one YAML 1.2 file or a folder of them, checked by the
// published JSON Schema and by what a schema cannot say.
//
// A file is refused with every fault at once, each with file, line, reason and remedy ([Faults]). What
// readers of YAML disagree about is refused too: doubled keys, tabs, tags, merge keys, numbers that are
// not plainly decimal, and unquoted yes, no, on and off. Values never appear in a fault, since what
// stands in a wrong place may be a secret.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engang/shared/config"
)

// ErrNoFile says that none of the paths leads to a configuration file.
var ErrNoFile = errors.New("no file that ends in .yaml or .yml")

// ErrIrregular says that a path leads to what is neither a file nor a folder.
var ErrIrregular = errors.New("no regular file")

// A Source is a file that was read, or one that is built in.
type Source struct {
	Name string // for faults
	Text []byte
}

// A File is a configuration with the places of its parts.
type File struct {
	Set     config.Set
	Sources []Source
	root    *node
}

// Fault says where in the files a part of the configuration stands, or would have to stand, that is
// refused elsewhere: by what is live, or by what a reference leads to.
func (f *File) Fault(at, reason, remedy string) Fault {
	n := f.root.at(steps(at))
	return Fault{File: n.file, Line: n.line, At: at, Reason: reason, Remedy: remedy}
}

// Sort orders faults by file, in the order given, and line.
func (f *File) Sort(faults Faults) { faults.sort(f.Sources) }

// Read reads files as [Open] does, for who only needs what they say.
func Read(paths ...string) (config.Set, error) {
	f, err := Open(paths...)
	if err != nil {
		return config.Set{}, err
	}
	return f.Set, nil
}

// Open reads files, and the files that end in .yaml or .yml of folders (not of folders in them), as one
// configuration. It returns [Faults] when they are refused, an error that wraps [ErrNoFile],
// [ErrIrregular] or os.ErrNotExist when nothing is there to be read, and another one when it cannot be.
func Open(paths ...string) (*File, error) {
	var sources []Source
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		for _, file := range files {
			text, err := load(file)
			if err != nil {
				return nil, fmt.Errorf("read configuration: %w", err)
			}
			sources = append(sources, Source{Name: file, Text: text})
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("read configuration: %w", ErrNoFile)
	}
	return parse(sources)
}

// expand lists the files that a path stands for, in the order of their names.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, regular(path, info)
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

// regular refuses what has no end or waits for a writer: a pipe, a device.
func regular(path string, info os.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s: %w", path, ErrIrregular)
}

// load reads at most one byte more than a file may have.
func load(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: that already waits for the other end of a pipe
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads sources as one configuration, as [Read] does with files.
func Parse(sources ...Source) (config.Set, error) {
	f, err := parse(sources)
	if err != nil {
		return config.Set{}, err
	}
	return f.Set, nil
}

func parse(sources []Source) (*File, error) {
	s, err := loadShape()
	if err != nil {
		return nil, err
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
		return nil, faults
	}
	root := merge(roots, &faults)
	b := builder{root: root, faults: &faults}
	s.check(root, &b.shapes)
	faults = append(faults, b.shapes...)
	set := b.build()
	if len(faults) > 0 {
		faults.sort(sources)
		return nil, faults
	}
	return &File{Set: set, Sources: sources, root: root}, nil
}

// sections hold named parts, which may be spread over files.
var sections = []string{"providers", "endpoints", "recipes", "targets"}

// headers may be repeated in each file, and must say the same.
var headers = []string{"version", "tenant", "environment"}

// shared is what files may repeat that are also applied each on its own: word for word.
var shared = []string{"data", "providers", "targets"}

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
			first, ok := into.value.child(part.name)
			switch {
			case !ok:
				into.value.keys = append(into.value.keys, part)
			case !slices.Contains(shared, e.name) || !same(first, part.value):
				faults.add(&node{file: part.value.file, line: part.line}, pointer(e.name, part.name), fmt.Sprintf("it stands in %s, line %d, too", first.file, first.line), "keep one of them")
			}
		}
	case slices.Contains(shared, e.name) && same(into.value, e.value):
	default:
		faults.add(at, pointer(e.name), fmt.Sprintf("it stands in %s, line %d, too", into.value.file, into.line), "keep one of them")
	}
}

func same(a, b *node) bool { return bytes.Equal(a.json(), b.json()) }
