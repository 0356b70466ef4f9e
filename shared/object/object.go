// Package object names what an event is about, and decides which of two versions of it is newer.
//
// An object belongs to one tenant and one environment ([Scope]), and is named by kind and id
// ([ID], written "product:794"). How new a version of it is stands in a [Rank]: a text of fixed
// width whose order as bytes is the order of versions.
package object

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// MaxIDBytes is the longest object id, in bytes after percent-encoding, that fits our keys.
const MaxIDBytes = 200

// ErrNoID says that a text names no object: it is empty, too long, or not "kind:id".
var ErrNoID = errors.New("no usable object id")

// A Scope is the tenant and the environment ("test" or "production") that everything stored belongs to.
type Scope struct {
	Tenant      string `json:"tenant"`
	Environment string `json:"environment"`
}

// String is "tenant/environment", for logs and messages.
func (s Scope) String() string { return s.Tenant + "/" + s.Environment }

// An ID names an object within a scope. The zero ID names nothing.
type ID struct {
	Kind  string // what it is: "product"; never holds a colon
	Value string // the sender's own id: "794"
}

// NewID makes an ID. It returns an error that wraps [ErrNoID] when the kind is empty or holds a
// colon, or when the value is empty or longer than [MaxIDBytes] once percent-encoded.
func NewID(kind, value string) (ID, error) {
	switch n := encodedBytes(value); {
	case kind == "" || strings.Contains(kind, ":"):
		return ID{}, fmt.Errorf("object kind %q: %w", kind, ErrNoID)
	case value == "":
		return ID{}, fmt.Errorf("object of kind %q with an empty id: %w", kind, ErrNoID)
	case n > MaxIDBytes:
		return ID{}, fmt.Errorf("object id of %d bytes, at most %d: %w", n, MaxIDBytes, ErrNoID)
	}
	return ID{Kind: kind, Value: value}, nil
}

// encodedBytes is the length of a value in a key, where a space takes three bytes as every other one that is encoded.
func encodedBytes(value string) int { return len(url.QueryEscape(value)) + 2*strings.Count(value, " ") }

// ParseID reads "kind:id".
func ParseID(text string) (ID, error) {
	kind, value, found := strings.Cut(text, ":")
	if !found {
		return ID{}, fmt.Errorf("%q is not kind:id: %w", text, ErrNoID)
	}
	return NewID(kind, value)
}

// IsZero tells whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// String is "kind:id", or "" for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return id.Kind + ":" + id.Value
}

// MarshalText makes an ID a plain string in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what [ID.MarshalText] wrote.
func (id *ID) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	*id, err = ParseID(string(text))
	return err
}
