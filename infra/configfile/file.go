package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

// The structs below are a file as it is written; those of the domain are as it is stored.

type fileCommon struct {
	EventDays  int `json:"event_days"`
	ResultDays int `json:"result_days"`
}

type fileProvider struct {
	APIKey  secrets.Ref          `json:"api_key"`
	BaseURL string               `json:"base_url"`
	Store   bool                 `json:"store"`
	Prices  map[string]filePrice `json:"usd_per_million"`
}

type filePrice struct {
	Input      *decimal `json:"input"`
	Cached     *decimal `json:"cached"`
	CacheWrite *decimal `json:"cache_write"`
	Output     *decimal `json:"output"`
	AsOf       string   `json:"as_of"`

	Tiers map[string]filePrice `json:"tiers"`
}

type fileEndpoint struct {
	Provider  string              `json:"provider"`
	PublicURL string              `json:"public_url"`
	Source    string              `json:"source"`
	Secrets   []secrets.Ref       `json:"secrets"`
	Events    map[string]fileRule `json:"events"`
	MaxBody   size                `json:"max_body"`

	Type   string            `json:"type"`
	TypeAt *document.Pointer `json:"type_at"`
	Legacy bool              `json:"legacy"`
	HMAC   *fileHMAC         `json:"hmac"`

	SilentAfter span         `json:"silent_after"`
	CatchUp     *fileCatchUp `json:"catch_up"`
}

type fileHMAC struct {
	Header     string  `json:"header"`
	Prefix     string  `json:"prefix"`
	Encoding   string  `json:"encoding"`
	TimeHeader string  `json:"time_header"`
	Window     seconds `json:"window"`
}

type fileRule struct{ config.EventRule }

type fileRecipe struct {
	Version      int            `json:"version"`
	Input        fileFields     `json:"input"`
	Model        fileModel      `json:"model"`
	Instructions string         `json:"instructions"`
	Output       recipe.Output  `json:"output"`
	Checks       []recipe.Check `json:"checks"`
	Policy       recipe.Policy  `json:"policy"`

	Quiet    span              `json:"quiet_period"`
	Review   *recipe.Review    `json:"review"`
	Limits   fileLimits        `json:"limits"`
	Examples []json.RawMessage `json:"examples"`
}

type fileFields struct {
	Fields   map[string]fileField `json:"fields"`
	Required []string             `json:"required"`
	RefuseIf map[string]string    `json:"refuse_if"`
	Mask     []string             `json:"mask"`
}

type fileField struct{ recipe.Field }

type fileModel struct {
	Provider   string      `json:"provider"`
	Name       string      `json:"name"`
	AllowAlias bool        `json:"allow_alias"`
	Mode       string      `json:"mode"`
	Options    fileOptions `json:"options"`
}

type fileOptions struct {
	Reasoning       string  `json:"reasoning"`
	MaxOutputTokens int     `json:"max_output_tokens"`
	Timeout         seconds `json:"timeout"`
	ServiceTier     string  `json:"service_tier"`
}

// UnmarshalJSON takes "ignore" or a rule.
func (r *fileRule) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"ignore"` {
		r.Ignore = true
		return nil
	}
	return strict(raw, &r.EventRule)
}

// UnmarshalJSON takes a pointer or a field.
func (f *fileField) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		f.From = &document.Pointer{}
		return strict(raw, f.From)
	}
	return strict(raw, &f.Field)
}

// A decimal is a number as it was written, quoted or not: it never becomes a float.
type decimal string

// UnmarshalJSON keeps the text of a number.
func (d *decimal) UnmarshalJSON(raw []byte) error {
	*d = decimal(strings.Trim(string(raw), `"`))
	return nil
}

// A size is a number of bytes, written 512KiB.
type size int

// UnmarshalJSON reads a size.
func (s *size) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	for _, unit := range []struct {
		suffix string
		bytes  int
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"B", 1}} {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(digits)
		*s = size(n * unit.bytes)
		return err
	}
	return errors.New("no size")
}

// seconds is a duration of whole seconds, written 75s.
type seconds int

// UnmarshalJSON reads a duration.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	d, err := time.ParseDuration(strings.Trim(string(raw), `"`))
	*s = seconds(d / time.Second)
	return err
}

// strict decodes JSON and refuses what no field takes: a key that the schema knows and the struct does
// not would be lost in silence.
func strict(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

func (f fileEndpoint) endpoint(name string) config.Endpoint {
	e := config.Endpoint{
		Name: name, Provider: f.Provider, PublicURL: f.PublicURL, Source: f.Source,
		Secrets: f.Secrets, MaxBody: int(f.MaxBody), Events: map[string]config.EventRule{},
		Type: f.Type, TypeAt: f.TypeAt, Legacy: f.Legacy,
	}
	if h := f.HMAC; h != nil {
		e.HMAC = &config.HMAC{Header: h.Header, Prefix: h.Prefix, Encoding: h.Encoding, TimeHeader: h.TimeHeader, WindowSeconds: int(h.Window)}
	}
	e.SilentAfterSeconds = int(f.SilentAfter)
	if up := f.CatchUp; up != nil {
		e.CatchUp = &config.CatchUp{Target: up.Target, EverySeconds: int(up.Every)}
	}
	for event, rule := range f.Events {
		e.Events[event] = rule.EventRule
	}
	return e
}

func (f fileRecipe) recipe(name string) recipe.Recipe {
	r := recipe.Recipe{
		Name: name, Version: f.Version,
		Input: recipe.Fields{Fields: map[string]recipe.Field{}, Required: f.Input.Required, RefuseIf: f.Input.RefuseIf, Mask: f.Input.Mask},
		Model: recipe.Model{
			Provider: f.Model.Provider, Name: f.Model.Name, AllowAlias: f.Model.AllowAlias, Mode: f.Model.Mode,
			Options: recipe.Options{
				Reasoning: f.Model.Options.Reasoning, MaxOutputTokens: f.Model.Options.MaxOutputTokens,
				TimeoutSeconds: int(f.Model.Options.Timeout), ServiceTier: f.Model.Options.ServiceTier,
			},
		},
		Instructions: f.Instructions, Output: f.Output, Checks: f.Checks, Policy: f.Policy,
		QuietSeconds: int(f.Quiet), Review: f.Review, Examples: f.Examples,
	}
	for field, what := range f.Input.Fields {
		r.Input.Fields[field] = what.Field
	}
	if r.Model.Mode == "" {
		r.Model.Mode = "direct"
	}
	if r.Policy == "" {
		r.Policy = recipe.PolicyDraft // nothing is published by itself unless a file says so
	}
	return r
}

// price is exact; a price that is not said is that of plain input, so that cost is never too low.
func (f filePrice) price() (operation.Price, error) {
	p := operation.Price{AsOf: f.AsOf}
	var faults []error
	for _, part := range []struct {
		name string
		text *decimal
		to   *operation.Money
	}{{"input", f.Input, &p.Input}, {"cached", f.Cached, &p.Cached}, {"cache_write", f.CacheWrite, &p.CacheWrite}, {"output", f.Output, &p.Output}} {
		if part.text == nil {
			part.text = f.Input
		}
		m, err := operation.ParsePrice(string(*part.text))
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", part.name, err))
		}
		*part.to = m
	}
	return p, errors.Join(faults...)
}
