package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"engang/shared/document"
)

const (
	slackSum   = "X-Slack-Signature"
	slackStamp = "X-Slack-Request-Timestamp"
)

// slack signs version, time and body. Events come as JSON; what a person does in Slack comes as a form:
// a command as fields, the rest as JSON in the one field payload. The retry headers are unsigned and say
// nothing here. A body in the answer to a command would be shown to whoever gave it.
var slack = Scheme{
	name: "slack",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:  32,
		form: "the signing secret of the app, 32 letters and digits",
		not: []otherSecret{
			{"xoxb-", "a token of a bot"}, {"xoxp-", "a token of a user"}, {"xapp-", "a token of an app"},
			{"xoxe", "a refresh token"}, {"https://", "an address"},
		},
	},
	proof:       slackProof,
	messages:    func(r Request, p proof) []message { return []message{{[]byte("v0:" + p.stamp + ":"), r.Body}} },
	window:      fiveMinutes,
	source:      sourceIn("", "/team_id", "/team/id", "/enterprise_id", "/enterprise/id"),
	seal:        slackSeal,
	document:    slackDocument,
	text:        slackText,
	greeting:    slackChallenge,
	eventType:   slackType,
	eventKey:    first(slackEventID, typeAndContent),
	digest:      digestWithout("/token", "/authed_users", "/authorizations", "/event_context"),
	senderID:    slackEventID,
	kind:        slackKind,
	idText:      slackID,
	versionText: unixVersion(first(scalar("/event/event_ts"), scalar("/action_ts"), scalar("/actions/0/action_ts"), scalar("/event_time"))),
	dated:       func(r reading) bool { return at("/type")(r) == "event_callback" }, // a command says no time
	reply:       Reply{Status: http.StatusOK, Empty: true},
}

func slackProof(r Request) (proof, error) {
	p, err := prefixedHex(slackSum, "v0=", sha256.Size)(r)
	if err != nil {
		return proof{}, err
	}
	if p.stamp, err = only(r.Header, slackStamp); err != nil {
		return proof{}, err
	}
	var ok bool
	if p.at, ok = unixSeconds(p.stamp); !ok {
		return proof{}, unreadable(slackStamp)
	}
	return p, nil
}

func slackSeal(r *Request, k key, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set(slackStamp, stamp)
	r.Header.Set(slackSum, "v0="+hex.EncodeToString(k.sign(message{[]byte("v0:" + stamp + ":"), r.Body})))
	if !slackJSON(r.Body) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

// slackJSON tells JSON from a form by the body itself: Content-Type is not signed, and no form of Slack's
// begins with a bracket.
func slackJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) == 0 || body[0] == '{' || body[0] == '['
}

// slackText is the JSON of a delivery that has some.
func slackText(r Request) ([]byte, bool) {
	if content, ok := payloadField(r.Body); ok {
		return content, true
	}
	return r.Body, slackJSON(r.Body)
}

func slackDocument(r Request) (any, []byte, error) {
	content, ok := slackText(r)
	if !ok {
		return formDocument(r.Body)
	}
	doc, err := document.Decode(content)
	return doc, content, err
}

// slackChallenge proves to Slack that the address is ours: the text comes back as it is.
func slackChallenge(_ Request, doc any) (Pong, bool) {
	r := reading{doc: doc}
	text := at("/challenge")(r)
	if at("/type")(r) != "url_verification" || text == "" {
		return Pong{}, false
	}
	return Pong{Status: "pong", Body: []byte(text), ContentType: "text/plain"}, true
}

// slackType is the inner event's type where there is one: an event_callback is only the envelope.
func slackType(r reading) string {
	if at("/command")(r) != "" && at("/type")(r) == "" {
		return "slash_command"
	}
	outer := at("/type")(r)
	if outer == "event_callback" {
		return at("/event/type")(r)
	}
	return outer
}

func slackEventID(r reading) string { return prefixed("Ev", at("/event_id"))(r) }

// slackMessage is the time that names a message in its channel: of the message that was changed or
// deleted, not of the change.
var slackMessage = first(scalar("/event/message/ts"), scalar("/event/previous_message/ts"), scalar("/event/deleted_ts"), scalar("/event/item/ts"), scalar("/event/ts"),
	scalar("/message/ts"), scalar("/container/message_ts"), scalar("/message_ts"))

var slackChannel = first(at("/event/channel"), at("/event/item/channel"), at("/channel/id"), at("/container/channel_id"), at("/event/channel/id"), at("/channel_id"))

// slackKind is a message wherever one is named, else what the channel or the user is.
func slackKind(r reading) string {
	switch {
	case slackChannel(r) != "" && slackMessage(r) != "":
		return "message"
	case slackChannel(r) != "":
		return "channel"
	case slackUser(r) != "":
		return "user"
	}
	return ""
}

var slackUser = first(at("/event/user"), at("/event/user/id"), at("/user/id"), at("/user_id"))

// slackID is unique in the workspace: a message is known by channel and time.
func slackID(r reading) string {
	channel, message := slackChannel(r), slackMessage(r)
	switch {
	case channel != "" && message != "":
		return channel + "/" + message
	case channel != "":
		return channel
	}
	return slackUser(r)
}
