package config

import "encoding/json"

// A Change is one part that applying would add, replace or take away.
type Change struct {
	Kind   string  `json:"kind"` // "endpoint", "recipe" or "common"
	Name   string  `json:"name"`
	From   int     `json:"from"`   // live version; zero: none
	To     int     `json:"to"`     // zero: it is taken away
	Fields []Field `json:"fields"` // of a part that is replaced; none where only the order of keys differs
}

// A Field is one place that differs.
type Field struct {
	At   string          `json:"at"`   // JSON pointer into the part as it is stored
	From json.RawMessage `json:"from"` // null: it is not there
	To   json.RawMessage `json:"to"`
}
