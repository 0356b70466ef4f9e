package telemetry

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"sync"
)

// redact withholds content. What slog has a kind of its own for holds none, and most of what is logged is of those.
func redact(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Key = "timestamp"
	}
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	switch v := a.Value.Any().(type) {
	case slog.Level:
		if len(groups) == 0 && a.Key == slog.LevelKey && v == metricLevel {
			return slog.String(slog.LevelKey, "INFO")
		}
	case []directive:
	case error:
		if _, own := v.(json.Marshaler); own { // a handler prefers that to the text
			return slog.String(a.Key, v.Error())
		}
	default:
		if r := reflect.ValueOf(v); holds(r, maxDepth) {
			return slog.String(a.Key, withheld(r))
		}
	}
	return a
}

// withheld is what stands in the place of content.
func withheld(v reflect.Value) string {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return "[withheld, length " + strconv.Itoa(v.Len()) + "]"
	}
	return fmt.Sprintf("[withheld, %s]", v.Type())
}

// maxDepth is how deep values are looked into that may hold anything. What lies deeper is taken for content: nothing
// that is worth a log line lies there, and what leads back to itself would have no end.
const maxDepth = 8

// holds tells whether a value has content in it, at any depth.
func holds(v reflect.Value, depth int) bool {
	if !v.IsValid() {
		return false
	}
	switch verdict(v.Type()) {
	case plain:
		return false
	case content:
		return true
	}
	if depth == 0 {
		return true
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return holds(v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if shown(v.Type().Field(i)) && holds(v.Field(i), depth-1) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if holds(v.Index(i), depth-1) {
				return true
			}
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if holds(at.Key(), depth-1) || holds(at.Value(), depth-1) {
				return true
			}
		}
	}
	return false
}

// What a type says about its values.
const (
	plain   = iota // none has content in it
	open           // its values are to be looked at: some part may be anything
	content        // each may have content in it
)

var (
	verdicts   sync.Map // by reflect.Type: types are few, and stay
	headerType = reflect.TypeFor[[]string]()
	ownJSON    = reflect.TypeFor[json.Marshaler]()
	ownText    = reflect.TypeFor[encoding.TextMarshaler]()
)

// verdict is what a type says, looked at once.
func verdict(t reflect.Type) int {
	if known, ok := verdicts.Load(t); ok {
		return known.(int)
	}
	found := look(t, map[reflect.Type]bool{})
	verdicts.Store(t, found)
	return found
}

// look finds the worst that a type can hold. A type within itself adds nothing to what its other parts say.
func look(t reflect.Type, within map[reflect.Type]bool) int {
	if within[t] {
		return plain
	}
	within[t] = true
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return content
		}
		return look(t.Elem(), within)
	case reflect.Map:
		if t.Elem() == headerType { // headers, and forms
			return content
		}
		return max(look(t.Key(), within), look(t.Elem(), within))
	case reflect.Interface:
		return open
	case reflect.Pointer:
		return look(t.Elem(), within)
	case reflect.Struct:
		if t.Implements(ownJSON) || t.Implements(ownText) {
			return plain // it says itself what it shows: a moment, an amount, a secret that shows nothing
		}
		worst := plain
		for i := range t.NumField() {
			if f := t.Field(i); shown(f) {
				worst = max(worst, look(f.Type, within))
			}
		}
		return worst
	}
	return plain
}

// shown tells whether a field is written out, or may have parts that are.
func shown(f reflect.StructField) bool { return f.IsExported() || f.Anonymous }
