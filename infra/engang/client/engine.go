package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrNotLocal says that what answers is not a local system of this version.
var ErrNotLocal = errors.New("it is not engang local that answers, or one of another version")

// An Engine is where a local system keeps what a stack keeps in AWS.
type Engine struct {
	Endpoint   string `json:"endpoint"`
	Region     string `json:"region"`
	SecretPath string `json:"secret_path"`
}

// Engine asks a local system where its engine is. With changed, it is also told that something was
// written there, and reads it again at once.
func (c *Client) Engine(ctx context.Context, changed bool) (Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	method := http.MethodGet
	if changed {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.API, "/api")+"/local/aws", bytes.NewReader(nil))
	if err != nil {
		return Engine{}, fmt.Errorf("make call: %w", err)
	}
	status, raw, err := c.send(r)
	if err != nil {
		return Engine{}, err
	}
	var e Engine
	if status != http.StatusOK || json.Unmarshal(raw, &e) != nil || e.Endpoint == "" || e.SecretPath == "" {
		return Engine{}, fmt.Errorf("ask for the parameter store: %w", ErrNotLocal)
	}
	return e, nil
}
