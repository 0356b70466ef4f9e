package main

import (
	"fmt"
	"html"
	"strings"
)

// A picture is an SVG of a fixed size, with its own background, so that it reads on light and dark pages alike.
type picture struct {
	width, height float64
	parts         strings.Builder
}

const (
	ink   = "#1f2933"
	paper = "#ffffff"
)

// A place is a point, or a size, in the picture.
type place struct{ x, y float64 }

// An anchor is the side of a text that its place means.
type anchor string

const (
	left   anchor = "start"
	middle anchor = "middle"
	right  anchor = "end"
)

func (p *picture) text(where place, at anchor, size int, what string) {
	fmt.Fprintf(&p.parts, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", where.x, where.y, at, size, html.EscapeString(what))
}

// upright is a text that reads from below.
func (p *picture) upright(where place, size int, what string) {
	fmt.Fprintf(&p.parts, `<text transform="translate(%.1f %.1f) rotate(-40)" font-size="%d">%s</text>`+"\n", where.x, where.y, size, html.EscapeString(what))
}

func (p *picture) box(where, size place, fill string) {
	fmt.Fprintf(&p.parts, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", where.x, where.y, size.x, size.y, fill)
}

func (p *picture) line(from, to place, stroke string) {
	fmt.Fprintf(&p.parts, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", from.x, from.y, to.x, to.y, stroke)
}

func (p *picture) dot(where place, fill string) {
	fmt.Fprintf(&p.parts, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", where.x, where.y, fill)
}

// svg is the whole, with a title for those who do not see it.
func (p *picture) svg(title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="system-ui, sans-serif" fill="%s" role="img">
<title>%s</title>
<rect width="100%%" height="100%%" fill="%s"/>
%s</svg>
`, p.width, p.height, ink, html.EscapeString(title), paper, p.parts.String())
}
