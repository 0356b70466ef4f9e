package handler

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/document"
)

// read reads what the receiver looks at of an event of API Gateway, in one pass: the body alone is most of it, and the
// usual way through reflection looks at each byte three times. Absent members are empty.
func read(event []byte) (e events.APIGatewayV2HTTPRequest, err error) {
	v, err := document.Decode(event)
	if err != nil {
		return e, fmt.Errorf("read event of the gateway: %w", err)
	}
	doc := members(v)
	inner := members(doc["requestContext"])
	e.RawPath, e.RawQueryString, e.Body = text(doc["rawPath"]), text(doc["rawQueryString"]), text(doc["body"])
	e.IsBase64Encoded, _ = doc["isBase64Encoded"].(bool)
	e.Headers, e.PathParameters = texts(doc["headers"]), texts(doc["pathParameters"])
	e.RequestContext.RequestID, e.RequestContext.DomainName = text(inner["requestId"]), text(inner["domainName"])
	e.RequestContext.HTTP.Method = text(members(inner["http"])["method"])
	return e, nil
}

func members(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) map[string]string {
	all := map[string]string{}
	for name, value := range members(v) {
		all[name] = text(value)
	}
	return all
}
