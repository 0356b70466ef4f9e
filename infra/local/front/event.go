package front

import (
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/uuid"
)

// Account is the account id of the local system.
const Account = "000000000000"

func (g *Gateway) event(r *http.Request, route *Route, parameters map[string]string, body []byte) events.APIGatewayV2HTTPRequest {
	now := time.Now()
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	host, _, _ := strings.Cut(r.Host, ":")
	e := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              route.Method + " " + route.Path,
		RawPath:               r.URL.Path,
		RawQueryString:        r.URL.RawQuery,
		Headers:               headers(r, address),
		QueryStringParameters: query(r),
		PathParameters:        parameters,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: route.Method + " " + route.Path, AccountID: Account, Stage: "$default", RequestID: uuid.NewString(), APIID: "local",
			DomainName: host, DomainPrefix: "local", Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: address, UserAgent: r.UserAgent(),
			},
		},
	}
	for _, c := range r.Cookies() {
		e.Cookies = append(e.Cookies, c.Name+"="+c.Value)
	}
	if route.IAM {
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: g.identity(r)}
	}
	if e.IsBase64Encoded = len(body) > 0 && !isText(r.Header.Get("Content-Type"), body); e.IsBase64Encoded {
		e.Body = base64.StdEncoding.EncodeToString(body)
	} else {
		e.Body = string(body)
	}
	return e
}

func (g *Gateway) identity(r *http.Request) *events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription {
	name := "local"
	if g.Identity != nil {
		name = g.Identity(r)
	}
	return &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
		AccessKey: "LOCAL", AccountID: Account, CallerID: name, UserARN: "arn:aws:iam::" + Account + ":user/" + name, UserID: name,
	}
}

// headers are those of the request as the gateway passes them on; cookies stand on their own.
func headers(r *http.Request, address string) map[string]string {
	h := map[string]string{"host": r.Host}
	for name, values := range r.Header {
		if name != "Cookie" {
			h[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	if r.ContentLength > 0 { // the server takes it off the headers
		h["content-length"] = strconv.FormatInt(r.ContentLength, 10)
	}
	add := func(name, value string) {
		if before := h[name]; before != "" {
			value = before + ", " + value
		}
		h[name] = value
	}
	add("x-forwarded-for", address)
	h["x-forwarded-proto"] = "http"
	h["x-amzn-trace-id"] = "Root=" + uuid.NewString()
	return h
}

func query(r *http.Request) map[string]string {
	values := r.URL.Query()
	if len(values) == 0 {
		return nil
	}
	q := make(map[string]string, len(values))
	for name, v := range values {
		q[name] = strings.Join(v, ",")
	}
	return q
}

// isText tells whether the gateway passes a body on as text. Bytes that are not UTF-8 cannot stand in
// a JSON event at all: they go as base64 whatever they call themselves.
func isText(contentType string, body []byte) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	switch kind {
	case "application/json", "application/xml", "application/javascript":
	default:
		if !strings.HasPrefix(kind, "text/") {
			return false
		}
	}
	return utf8.Valid(body)
}
