// Package document reads JSON that comes from outside: exactly, or not at all.
//
// Numbers keep their text, so that an id of nineteen digits is not rounded; anything that is not one
// complete UTF-8 JSON value of bounded depth is refused. The canonical form ([Canonical]) does not
// depend on the order of keys or on white space, so that it can be hashed.
package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 256

// ErrMalformed says that bytes are not one UTF-8 JSON value within [MaxDepth].
var ErrMalformed = errors.New("malformed JSON")

// Decode reads one JSON value: map[string]any, []any, string, json.Number, bool or nil. Of two members
// with one name the last counts, as in every common parser: refusing them would switch the webhook of a
// sender off that means no harm. Texts share the memory of one copy of raw.
func Decode(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("not UTF-8: %w", ErrMalformed)
	}
	v, err := parse(string(raw), false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	return v, nil
}

// Canonical writes a value with sorted keys, no white space, no HTML escaping and numbers as they were
// written. The value must consist of what [Decode] returns.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write canonical JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Digest is the hex SHA-256 of bytes.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
