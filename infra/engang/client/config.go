package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"engang/shared/config"
	"engang/shared/control"
)

// A Proposal is a configuration that is to be applied.
type Proposal struct {
	Set              config.Set `json:"set"`
	AllowModelChange bool       `json:"allow_model_change,omitempty"`
	Revision         *int       `json:"revision,omitempty"` // that was looked at; nil for a plan
}

// Config asks for what is live, by version.
func (c *Client) Config(ctx context.Context) (control.Config, error) {
	var doc control.Config
	return doc, c.get(ctx, "config", nil, &doc)
}

// Plan asks what applying would change.
func (c *Client) Plan(ctx context.Context, p Proposal) (control.Application, error) {
	p.Revision = nil
	return c.propose(ctx, question{method: http.MethodPost, path: "plan"}, p)
}

// Apply makes a configuration live over the revision that was looked at.
func (c *Client) Apply(ctx context.Context, p Proposal) (control.Application, error) {
	return c.propose(ctx, question{method: http.MethodPut, path: "config"}, p)
}

func (c *Client) propose(ctx context.Context, ask question, p Proposal) (control.Application, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // a schema is stored to the byte as it is sent
	if err := e.Encode(p); err != nil {
		return control.Application{}, fmt.Errorf("write call: %w", err)
	}
	ask.body = body.Bytes()
	var doc control.Application
	return doc, c.call(ctx, ask, &doc)
}
