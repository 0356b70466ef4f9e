package woocommerce

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// A Webhook is one that a shop has, as far as it says whether it delivers.
type Webhook struct {
	Topic       string `json:"topic"`        // "product.updated"
	Status      string `json:"status"`       // "active", "paused", or "disabled", which a shop sets by itself after five failures
	DeliveryURL string `json:"delivery_url"` // where it delivers to
}

// Webhooks lists the webhooks of a shop, at most a hundred. Its errors are those of [Shops.Search].
func (s *Shops) Webhooks(ctx context.Context, t config.Target) ([]Webhook, error) {
	base, err := address(t.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("list webhooks of a shop: %w", err)
	}
	user, password, err := s.key(ctx, t.Key)
	if err != nil {
		return nil, fmt.Errorf("list webhooks of a shop: %w", err)
	}
	to := base.JoinPath("wp-json", "wc", "v3", "webhooks")
	to.RawQuery = "per_page=100"
	limited, cancel := context.WithTimeout(telemetry.WithCall(ctx, "list webhooks"), s.time)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("list webhooks of a shop: %w", errBase)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "engang")
	all, err := s.webhooks(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("list webhooks of a shop: %w", err)
	}
	return all, nil
}

func (s *Shops) webhooks(ctx context.Context, req *http.Request) ([]Webhook, error) {
	res, err := s.http.Do(req)
	if err != nil {
		return nil, s.unanswered(ctx, req.Context())
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, refusal(res)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, s.bytes))
	if err != nil {
		return nil, s.unanswered(ctx, req.Context())
	}
	var all []Webhook
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return nil, &inbox.SourceError{Reason: "sent no list of webhooks", Status: res.StatusCode}
	}
	return all, nil
}
