package bench

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// What is delivered: a product of 8 KB as WooCommerce reports it, to the endpoint of infra/local.yaml.
const (
	endpoint = "woo-shop"
	provider = "woocommerce"
	topic    = "product.updated"
	known    = "794" // the product's id in the body
)

//go:embed product.json
var product string

// plain is a product as small shops have them. What is stored before anything is measured is of this size.
const plain = `{"id":794,"name":"Table 794","description":"<p>Solid oak, made by hand and oiled twice, for kitchens and for halls.<\/p>",` +
	`"date_modified_gmt":"2026-11-29T19:30:14","categories":[{"id":1,"name":"Furniture"}],"attributes":[{"name":"Material","options":["oak"]}]}`

// A version is a product at a time.
type version struct {
	id   int
	word string // in its name; empty: none
	late int    // minutes that it was changed after the first
}

// A maker makes signed deliveries, as the gateway passes them on. It is not safe for concurrent use: all are made before
// anything is measured.
type maker struct {
	scheme webhook.Scheme
	secret secrets.Value
	made   int
}

func newMaker() (*maker, error) {
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		return nil, fmt.Errorf("no provider %s", provider)
	}
	return &maker{scheme: scheme, secret: secrets.NewValue(local.Secret(provider, secrets.Ref("ssm:hooks/"+endpoint+"/1"))), made: 1_000_000}, nil
}

// fresh makes a delivery of a product that nobody has seen.
func (m *maker) fresh() ([]byte, error) {
	m.made++
	return m.delivery(product, version{id: m.made})
}

// many makes deliveries of as many products.
func (m *maker) many(n int) ([][]byte, error) {
	all := make([][]byte, n)
	for i := range all {
		var err error
		if all[i], err = m.fresh(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// delivery reports a version of a product.
func (m *maker) delivery(body string, v version) ([]byte, error) {
	modified := time.Date(2026, 11, 29, 12, v.late, 0, 0, time.UTC).Format("2006-01-02T15:04:05")
	body = strings.ReplaceAll(body, known, strconv.Itoa(v.id))
	body = strings.Replace(body, `"name":"Table `, `"name":"Table `+v.word+` `, 1)
	body = strings.Replace(body, `"date_modified_gmt":"2026-11-29T19:30:14"`, `"date_modified_gmt":"`+modified+`"`, 1)
	header := http.Header{"X-Wc-Webhook-Topic": {topic}, "Content-Type": {"application/json"}, "User-Agent": {"WooCommerce/7.3.0 Hookshot (WordPress/6.1.9)"}}
	signed, err := m.scheme.Sign(webhook.Request{Method: http.MethodPost, Header: header, Body: []byte(body)}, m.secret, time.Now())
	if err != nil {
		return nil, fmt.Errorf("sign a delivery: %w", err)
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "POST /hooks/{endpoint}", RawPath: "/hooks/" + endpoint, PathParameters: map[string]string{"endpoint": endpoint},
		Headers: map[string]string{}, Body: string(signed.Body),
	}
	e.RequestContext.RequestID, e.RequestContext.DomainName, e.RequestContext.Stage = "bench", "bench.example.com", "$default"
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = http.MethodPost, e.RawPath
	for name := range signed.Header {
		e.Headers[strings.ToLower(name)] = signed.Header.Get(name)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write a delivery: %w", err)
	}
	return raw, nil
}

// answered reads what the receiver said.
func answered(raw []byte) (status, event string, err error) {
	var out struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}
	var body struct{ Status, Event string }
	if err := json.Unmarshal(raw, &out); err != nil {
		return "", "", fmt.Errorf("read answer: %w", err)
	}
	if err := json.Unmarshal([]byte(out.Body), &body); err != nil || out.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("the receiver answered %d: %s", out.StatusCode, out.Body)
	}
	return body.Status, body.Event, nil
}
