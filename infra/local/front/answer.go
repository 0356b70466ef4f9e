package front

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

// An answer is what goes back to the sender.
type answer struct {
	status  int
	headers map[string]string
	cookies []string
	body    []byte
}

// own is an answer of the gateway itself.
func own(status int, message string) answer {
	body, _ := json.Marshal(map[string]string{"message": message})
	return answer{status: status, headers: map[string]string{"content-type": "application/json"}, body: body}
}

func refuse(w http.ResponseWriter, status int, message string) { own(status, message).write(w, false) }

// read understands a function's answer as payload format 2.0 does: with a status code it is a whole
// answer, without one it is the body of a 200. What does not decode is the function's fault: 500.
func read(raw []byte) answer {
	var out struct {
		StatusCode *int              `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Cookies    []string          `json:"cookies"`
		Body       string            `json:"body"`
		Base64     bool              `json:"isBase64Encoded"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["statusCode"] == nil {
		if !json.Valid(raw) {
			return own(http.StatusInternalServerError, "Internal Server Error")
		}
		return answer{status: http.StatusOK, headers: map[string]string{"content-type": "application/json"}, body: raw}
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.StatusCode == nil || *out.StatusCode < 100 || *out.StatusCode > 599 {
		return own(http.StatusInternalServerError, "Internal Server Error")
	}
	a := answer{status: *out.StatusCode, headers: out.Headers, cookies: out.Cookies, body: []byte(out.Body)}
	if out.Base64 {
		body, err := base64.StdEncoding.DecodeString(out.Body)
		if err != nil {
			return own(http.StatusInternalServerError, "Internal Server Error")
		}
		a.body = body
	}
	return a
}

func (a answer) write(w http.ResponseWriter, head bool) {
	for name, value := range a.headers {
		w.Header().Set(name, value)
	}
	for _, c := range a.cookies {
		w.Header().Add("Set-Cookie", c)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Apigw-Requestid", "local")
	if head {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if !head {
		_, _ = w.Write(a.body)
	}
}
