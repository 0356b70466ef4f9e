// Package secrets looks secrets up by reference, keeps them for a while, and keeps them from being
// printed.
package secrets

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// ErrUnusable says that a reference leads to no usable secret: it does not exist, is empty, or is not
// readable. The receiver answers 503 and acknowledges nothing.
var ErrUnusable = errors.New("no usable secret")

// A Value is a secret. Every way of printing it shows "[secret]"; only [Value.Reveal] gives its bytes.
//
// The bytes are behind a function, because fmt calls no method on a Value in an unexported field: it
// walks the memory, and finds an address there.
type Value struct{ bytes func() []byte }

// NewValue makes a Value of text. An empty text makes a Value that [Value.IsEmpty] reports.
func NewValue(text string) Value {
	b := []byte(text)
	return Value{func() []byte { return b }}
}

// Reveal returns the bytes of the secret, for the one call that needs them.
func (v Value) Reveal() []byte {
	if v.bytes == nil {
		return nil
	}
	return v.bytes()
}

// IsEmpty tells whether there is nothing in it.
func (v Value) IsEmpty() bool { return len(v.Reveal()) == 0 }

const shown = "[secret]"

// String is "[secret]".
func (Value) String() string { return shown }

// Format prints "[secret]" for every verb.
func (Value) Format(f fmt.State, _ rune) { fmt.Fprint(f, shown) }

// LogValue logs "[secret]".
func (Value) LogValue() slog.Value { return slog.StringValue(shown) }

// MarshalText refuses: a secret is never written into a document.
func (Value) MarshalText() ([]byte, error) {
	return nil, errors.New("a secret is not written into documents")
}

// A Ref names a secret: "ssm:hooks/woo-shop/1". The path is relative to the stack's own prefix.
type Ref string

// Path is the part of the reference after "ssm:". It fails when the text is no reference, which also
// catches a secret written where its reference should stand; the error does not repeat the text.
func (r Ref) Path() (string, error) {
	path, prefixed := strings.CutPrefix(string(r), "ssm:")
	kind, steps, named := strings.Cut(path, "/")
	if !prefixed || !named || !slices.Contains(places, kind) {
		return "", errNoRef
	}
	for step := range strings.SplitSeq(steps, "/") {
		if strings.Trim(step, alphanumeric+"._-") != "" || !strings.ContainsAny(step, alphanumeric) { // of dots alone it would lead elsewhere than it says
			return "", errNoRef
		}
	}
	return path, nil
}

// alphanumeric are the characters that a step of a path holds one of, and dots, underscores and hyphens besides.
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var (
	places   = []string{"hooks", "models", "targets"}
	errNoRef = errors.New("not a reference of the form ssm:hooks/…, ssm:models/… or ssm:targets/…")
)

// ErrSlot says that a reference to the secret of an endpoint does not end with a slot that there is.
var ErrSlot = errors.New("slots count from 1, without zeros in front")

// Fit tells why a reference is not fit to be configured: it is none ([Ref.Path]), or an error that is
// [ErrSlot]. What is live already is only held to its path, so that it stays readable. The error does not
// repeat the text.
func (r Ref) Fit() error {
	path, err := r.Path()
	if err != nil {
		return err
	}
	slot := path[strings.LastIndexByte(path, '/')+1:]
	zero := strings.HasPrefix(slot, "0") && strings.Trim(slot, "0123456789") == ""
	if strings.HasPrefix(path, "hooks/") && (strings.Count(path, "/") < 2 || zero) {
		return ErrSlot
	}
	return nil
}
