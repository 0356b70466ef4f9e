// Package recipe is the domain of one enrichment, as it is said: what of a payload goes into a call, what is
// asked, and what the answer must be to count. Package compiled does it.
package recipe

import (
	"encoding/json"
	"errors"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// ErrInvalidInput says that a payload lacks what the recipe needs. Use errors.AsType[*InputError] for the reason.
var ErrInvalidInput = errors.New("invalid input")

// An InputError says why a payload cannot be the input of a recipe, without repeating any of it.
type InputError struct{ Reason string }

// Error is the reason.
func (e *InputError) Error() string { return e.Reason }

// Is makes errors.Is(err, ErrInvalidInput) true.
func (e *InputError) Is(target error) bool { return target == ErrInvalidInput }

// A Policy says what becomes of a good output.
type Policy string

// The policies.
const (
	PolicyDraft        Policy = "draft"          // a person decides
	PolicyReviewOnFlag Policy = "review-on-flag" // a person decides where one of the recipe's own flags is raised
	PolicyAuto         Policy = "auto"           // it becomes the result at once
)

// A Recipe is a versioned description of one enrichment, as it is applied and stored. It is immutable
// once applied.
type Recipe struct {
	Name         string  `json:"name"`
	Version      int     `json:"version"`
	Input        Fields  `json:"input"`
	Model        Model   `json:"model"`
	Instructions string  `json:"instructions"`
	Output       Output  `json:"output"`
	Checks       []Check `json:"checks,omitempty"`
	Policy       Policy  `json:"policy"`

	QuietSeconds int               `json:"quiet_seconds,omitempty"` // wait after the last change of an object
	Review       *Review           `json:"review,omitempty"`
	Limits       Limits            `json:"limits,omitzero"`
	Examples     []json.RawMessage `json:"examples,omitempty"` // outputs that must fit the schema
}

// Review says when an output needs a person, and whose list it goes to.
type Review struct {
	Flags map[string]string `json:"flags,omitempty"` // by output property "not_empty" or "empty"; "cost_usd" a bound such as "> 0.01"
	By    []string          `json:"by,omitempty"`    // groups of the identity provider; the first owns the draft
	Days  int               `json:"days,omitempty"`  // after which a waiting draft is reported as late; it never expires
}

// Limits bound what a recipe may do. Zero is no limit of the recipe's own.
type Limits struct {
	Attempts    int             `json:"attempts,omitempty"`     // claims of one operation before it is given up
	USDPerEvent operation.Money `json:"usd_per_event,omitzero"` // for all attempts of one operation
	USDPerDay   operation.Money `json:"usd_per_day,omitzero"`   // for all calls of the recipe in a day of UTC
	PerMinute   int             `json:"per_minute,omitempty"`   // calls
}

// CallsAMinute is what is kept to of PerMinute; zero is no limit. A version that was stored with more than can be
// counted is live with as many as can.
func (l Limits) CallsAMinute() int { return min(l.PerMinute, MaxPerMinute) }

// Ref names this version of the recipe.
func (r Recipe) Ref() inbox.RecipeRef { return inbox.RecipeRef{Name: r.Name, Version: r.Version} }

// Fields says which parts of a payload are the input: nothing else leaves the account.
type Fields struct {
	Fields   map[string]Field `json:"fields"`
	Required []string         `json:"required,omitempty"`

	RefuseIf map[string]string `json:"refuse_if,omitempty"` // by pointer a pattern with * for any text: such a payload is no input
	Mask     []string          `json:"mask,omitempty"`      // kinds of personal data replaced in free text before digest and call
}

// A Field is one part of the input. In a file, a bare pointer is short for From alone.
type Field struct {
	From     *document.Pointer `json:"from,omitempty"`
	As       string            `json:"as,omitempty"`        // "text": HTML to text
	Max      int               `json:"max,omitempty"`       // characters; cut at a word, and the cut is marked
	MaxItems int               `json:"max_items,omitempty"` // of a list
	Pick     []string          `json:"pick,omitempty"`      // of an object, or of each object in a list
	Const    json.RawMessage   `json:"const,omitempty"`     // instead of From
	Personal *Personal         `json:"personal,omitempty"`  // why it may be about a person
}

// Personal says why something about a person may go to a model.
type Personal struct {
	Purpose string `json:"purpose"` // what it is for: a sentence
	Basis   string `json:"basis"`   // what allows it: a contract, a consent, ...
}

// Model says which model is asked, and how.
type Model struct {
	Provider   string  `json:"provider"`
	Name       string  `json:"name"`
	AllowAlias bool    `json:"allow_alias,omitempty"`
	Mode       string  `json:"mode"` // "direct"
	Options    Options `json:"options"`
}

// Options are the knobs of a call.
type Options struct {
	Reasoning       string `json:"reasoning,omitempty"`
	MaxOutputTokens int    `json:"max_output_tokens"`
	TimeoutSeconds  int    `json:"timeout_seconds,omitempty"` // zero: the function's own
	ServiceTier     string `json:"service_tier,omitempty"`
}

// Output is what the answer must look like: strict structured output.
type Output struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// A Check is one rule that we hold an output against, where the schema language cannot.
type Check struct {
	Path   document.Pointer `json:"path"`
	Length *[2]int          `json:"length,omitempty"` // characters of a text, or items of a list: least and most
	Unique string           `json:"unique,omitempty"` // "fold": no two equal but for case
	Deny   []string         `json:"deny,omitempty"`   // words that must not occur, whatever their case
	Quotes *Quotes          `json:"quotes,omitempty"`
}

// Quotes says that the text in one property must occur in the input field that another one names.
type Quotes struct {
	Value string `json:"value"` // property of the checked object
	In    string `json:"in"`    // property that names an input field
}

// An Input is what a recipe takes from one payload.
type Input struct {
	Fields map[string]any
	JSON   []byte // canonical: what is sent, and what is hashed
	Digest string // hex SHA-256 of JSON: part of the operation key
	Masked int    // pieces of personal data that were replaced
}

// A Prompt is all that one call sends.
type Prompt struct {
	Recipe          inbox.RecipeRef
	Provider        string
	Model           string
	Instructions    string
	Input           []byte // canonical JSON of the fields
	SchemaName      string
	Schema          json.RawMessage
	MaxOutputTokens int
	Reasoning       string
	ServiceTier     string
}

// Findings is what checking an output brought to light.
type Findings struct {
	Unusable string   // not empty: no draft can be made of it, and why, without quoting it
	Flags    []string // checks of ours that did not pass, without quoting the output: a person must decide
}
