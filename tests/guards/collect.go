package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A rewritten file is one whose guards can be switched off.
type rewritten struct {
	file   string
	text   string
	pack   string // its package clause
	guards []guard
}

// collect finds the guards of all sources below a root, and makes them switchable.
func collect(root string) (files []rewritten, err error) {
	known := map[string]int{}
	for _, s := range sources {
		raw, err := os.ReadFile(filepath.Join(root, s.file))
		if err != nil {
			return nil, fmt.Errorf("read guards: %w", err)
		}
		f, err := s.rewrite(string(raw), known)
		if err != nil {
			return nil, fmt.Errorf("read guards of %s: %w", s.file, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// rewrite makes the guards of one file switchable: the orders first, so that what stands in them is looked at as well.
func (s source) rewrite(text string, known map[string]int) (rewritten, error) {
	r := &rewriter{file: s.file, text: text, known: known}
	for _, o := range s.orders {
		if err := r.order(o, r.name(o.id, true)); err != nil {
			return rewritten{}, err
		}
	}
	last := r.guards // they come behind the others
	r.guards = nil
	set, file, err := parsed(s.file, r.text)
	if err != nil {
		return rewritten{}, err
	}
	r.set = set
	if s.file == expressions {
		err = r.statements(file)
	} else {
		err = r.rows(file, s.functions)
	}
	if err != nil {
		return rewritten{}, err
	}
	return rewritten{file: s.file, text: r.result(), pack: file.Name.Name, guards: append(r.guards, last...)}, nil
}

// order writes down what an order is the alternative to.
func (r *rewriter) order(o order, name string) error {
	for i := 0; i < len(o.edits); i += 2 {
		if n := strings.Count(r.text, o.edits[i]); n != 1 {
			return fmt.Errorf("%s: what it changes stands there %d times, not once; write it anew in orders_*.go: %q", o.id, n, o.edits[i])
		}
		instead := strings.NewReplacer("$on", "guardOn("+strconv.Quote(name)+")", "$id", strconv.Quote(name)).Replace(o.edits[i+1])
		r.text = strings.Replace(r.text, o.edits[i], instead, 1)
	}
	return nil
}

// guardsOf are the guards of all files, in their order.
func guardsOf(files []rewritten) (all []guard) {
	for _, f := range files {
		all = append(all, f.guards...)
	}
	return all
}

// repository is the folder of the module that the command is run in.
func repository() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("find the module: no go.mod here or above")
		}
		at = up
	}
}
