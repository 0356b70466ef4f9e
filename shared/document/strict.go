package document

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// ErrForm says that a document is JSON of another form than the one that is read: it has a key that is not known, or
// a value of another type.
var ErrForm = errors.New("JSON of another form")

// Unmarshal reads one JSON value into what into points at, to the last key: what the reader does not know must not be
// lost in silence. A key that is not known, or is written in other letters than its field's, is refused with an error
// that wraps [ErrForm], and so is a value of another type. A key twice, and anything that follows the value, is
// [ErrMalformed]. What reads itself from JSON, inside of it, is asked to look at its own keys. No error quotes the bytes.
func Unmarshal(raw []byte, into any) error {
	if !utf8.Valid(raw) {
		return fmt.Errorf("not UTF-8: %w", ErrMalformed)
	}
	v, err := parse(string(raw), true)
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	if !known(v, reflect.TypeOf(into)) || json.Unmarshal(raw, into) != nil { // its text may quote the bytes
		return ErrForm
	}
	return nil
}

// known tells whether each key of a value is that of a field of the type.
func known(v any, t reflect.Type) bool {
	for !readsItself(t) && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if readsItself(t) {
		return true
	}
	switch v := v.(type) {
	case []any:
		return t.Kind() != reflect.Slice && t.Kind() != reflect.Array || all(v, t.Elem())
	case map[string]any:
		return knownMembers(v, t)
	}
	return true
}

func all(list []any, t reflect.Type) bool {
	for _, v := range list {
		if !known(v, t) {
			return false
		}
	}
	return true
}

func knownMembers(members map[string]any, t reflect.Type) bool {
	of := func(string) (reflect.Type, bool) { return t, false } // what is no object is refused when it is read
	switch t.Kind() {
	case reflect.Map:
		of = func(string) (reflect.Type, bool) { return t.Elem(), true }
	case reflect.Struct:
		fields := fieldsOf(t)
		of = func(name string) (reflect.Type, bool) { f, ok := fields[name]; return f, ok }
	case reflect.Interface:
		return true
	}
	for name, v := range members {
		if f, ok := of(name); !ok || !known(v, f) {
			return false
		}
	}
	return true
}

// fieldsOf are the types of a struct's fields by their names in JSON, those of embedded structs with them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported(), f.Anonymous && name == "":
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(jsonReader) || t.Implements(textReader) || p.Implements(jsonReader) || p.Implements(textReader)
}
