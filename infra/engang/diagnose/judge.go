package diagnose

import (
	"errors"
	"fmt"
	"time"

	"engang/shared/document"
	"engang/shared/webhook"
)

// judgeTime tells the signed time, and what is wrong with it once the signature proves it.
func (s *search) judgeTime(a attempt, proved bool) {
	at, ok := a.scheme.SignedAt(a.request)
	if !ok {
		return
	}
	s.report.Timestamp.Proved = proved
	if unit := s.otherUnit(at); unit != "" {
		s.report.Timestamp.Unit = unit
		s.find("time-unit", "the signed time is in "+unit, "look for what writes the time: it is not the provider")
		return
	}
	skew := int(s.Now.Sub(at).Round(time.Second) / time.Second)
	s.report.Timestamp.SignedAt, s.report.Timestamp.SkewSeconds = &at, &skew
	window := int(a.scheme.Window() / time.Second)
	s.report.Timestamp.WindowSeconds = window
	if !proved || s.verifyTime(a) {
		return
	}
	switch off := max(skew, -skew); {
	case wholeHours(off):
		s.find("time-zone", fmt.Sprintf("the signed time is %d s %s: a whole number of hours", off, direction(skew)), "set the clock, or its time zone, on the side that is wrong; if it was in time when it arrived, say when with --now")
	case skew > 0:
		s.find("time-stale", fmt.Sprintf("the signed time is %d s before the arrival, more than the %d s that are allowed", off, window), "if it was in time when it arrived, say when with --now; else look for a queue or a retry on the way that does not sign anew, and at both clocks")
	default:
		s.find("time-future", fmt.Sprintf("the signed time is %d s after the arrival, more than the %d s that are allowed", off, window), "set the clock of the sender, or of this machine; or say with --now when it arrived")
	}
}

func (s *search) verifyTime(a attempt) bool {
	err := a.scheme.Verify(a.request, a.secrets, webhook.Expect{Certificate: s.Certificate}, s.Now)
	return !errors.Is(err, webhook.ErrTimestamp)
}

func direction(skew int) string {
	if skew > 0 {
		return "before the arrival"
	}
	return "after the arrival"
}

// wholeHours tells a clock in another zone: some hours, within a minute, and less than a day.
func wholeHours(off int) bool {
	const hour, minute = 3600, 60
	rest := off % hour
	return off > hour-minute && off < 15*hour && (rest <= minute || rest >= hour-minute)
}

// judgeSource holds what the sender calls itself against the endpoint.
func (s *search) judgeSource(a attempt) {
	if s.Endpoint.Source == "" {
		return
	}
	at, ok := a.scheme.SignedAt(a.request)
	if !ok {
		at = s.Now
	}
	fits := func(a attempt) bool {
		err := a.scheme.Verify(a.request, a.secrets, webhook.Expect{Certificate: s.Certificate, Source: s.Endpoint.Source}, at)
		return !errors.Is(err, webhook.ErrSource)
	}
	if fits(a) {
		return
	}
	if _, _, named := s.untangle(a, fits); !named {
		s.find("source", "the delivery does not say that it comes from "+printable(s.Endpoint.Source)+", as the endpoint demands", "set source at the endpoint to what the sender calls itself, or give the other sender an endpoint of its own")
	}
}

// judgeEvent tells what the delivery is about, and what keeps it from being worked on.
func (s *search) judgeEvent(a attempt) {
	doc, _, err := a.scheme.Document(a.request)
	if err != nil && len(a.request.Body) == 0 {
		s.find("body-empty", "the signature is right, and there is no body", "look at what the sender writes; "+doCapture)
		return
	}
	if err != nil {
		s.find("body-unreadable", "the signature is right, and the body cannot be read: "+plain(err), "look at what the sender writes")
		return
	}
	if _, ping := a.scheme.SignedHandshake(a.request, doc); ping {
		s.report.Event = &Event{Type: "ping"}
		return
	}
	if batch, ok := a.scheme.Split(a.request, doc); ok {
		s.report.Event = &Event{Type: webhook.SplitType, Events: len(batch.Parts)}
		if batch.Fact.Flaw != "" {
			s.find("flaw", batch.Fact.Flaw)
		}
		return
	}
	typ, err := a.scheme.Type(a.request, doc)
	if err != nil {
		once, sure, named := s.untangle(a, func(a attempt) bool { _, err := a.scheme.Type(a.request, doc); return err == nil })
		switch {
		case sure:
			s.judgeEvent(once)
			return
		case named:
			return
		}
		s.find("no-type", "the signature is right, and the delivery does not say what has happened", "look at the headers that the sender sends, or say type or type_at at the endpoint")
		return
	}
	s.report.Event = &Event{Type: printable(typ)}
	if s.Endpoint.Events == nil {
		return
	}
	rule, enabled := s.Endpoint.Events[typ]
	s.report.Event.Enabled, s.report.Event.Ignored = &enabled, rule.Ignore
	if enabled && !rule.Ignore {
		s.judgeObject(a, doc, webhook.Rule{Kind: rule.ObjectKind, ID: pointerOf(rule.ObjectID), Version: pointerOf(rule.Version)})
	}
}

func (s *search) judgeObject(a attempt, doc any, rule webhook.Rule) {
	identify := func(a attempt) (webhook.Fact, error) { return a.scheme.Identify(a.request, doc, rule, s.Now) }
	fact, err := identify(a)
	switch {
	case err != nil:
		if _, _, named := s.untangle(a, func(a attempt) bool { _, err := identify(a); return err == nil }); named {
			return
		}
		s.find("no-key", "the signature is right, and the delivery does not say which event it is", "look at the headers that the sender sends")
	case fact.Flaw != "":
		s.find("flaw", "it is stored, and nothing can be done for it: "+fact.Flaw)
	case fact.Environment != "" && fact.Environment != s.Endpoint.Environment:
		s.find("environment", "it is an event of "+fact.Environment+", and the endpoint is of "+s.Endpoint.Environment+": it is counted and not stored", "give the sender's "+fact.Environment+" webhook the address of a "+fact.Environment+" endpoint")
	default:
		s.report.Event.Object = printable(fact.Kind + ":" + fact.ObjectID)
	}
}

func pointerOf(text string) *document.Pointer {
	if text == "" {
		return nil
	}
	p, err := document.ParsePointer(text)
	if err != nil { // it was checked when it was applied
		return nil
	}
	return &p
}

// plain is an error without what the row puts before it.
func plain(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}
