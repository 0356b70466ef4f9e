package client

import "context"

// A Version is what answers, and whom it takes the caller for.
type Version struct {
	Version string `json:"version"`
	You     string `json:"you"`
}

// Version asks what was deployed.
func (c *Client) Version(ctx context.Context) (Version, error) {
	nobody := *c
	nobody.Tenant, nobody.Environ = "", "" // it is the same for all
	var doc Version
	return doc, nobody.get(ctx, "version", nil, &doc)
}
