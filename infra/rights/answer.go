package rights

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// Denied is how AWS answers a request whose use is not allowed: each service in its own form. It names who asked, what
// for and on which resource, and nothing that the request carries.
func Denied(r *http.Request, who string, u Use) *http.Response {
	says := fmt.Sprintf("User: %s is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action", who, u.Action, u.Resource, u.Action)
	if strings.HasPrefix(u.Action, "s3:") {
		return answer(r, http.StatusForbidden, "application/xml", fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
			`<Error><Code>AccessDenied</Code><Message>%s</Message><RequestId>refused</RequestId><HostId>refused</HostId></Error>`, html.EscapeString(says)))
	}
	kind, status := "com.amazon.coral.service#AccessDeniedException", http.StatusBadRequest
	body, _ := json.Marshal(map[string]string{"__type": kind, "Message": says, "message": says}) // of texts: it cannot fail
	a := answer(r, status, r.Header.Get("Content-Type"), string(body))
	if strings.HasPrefix(u.Action, "sqs:") {
		a.Header.Set("X-Amzn-Query-Error", "AccessDenied;Sender") // what its older clients read
	}
	return a
}

func answer(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {kind}, "X-Amzn-Requestid": {"refused"}}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
}
