package v1

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is the protocol page, its tables by their first column's heading. Each row
// knows under which heading it stands.
type page struct {
	text   string
	tables map[string][]pageRow
}

type pageRow struct {
	section string
	cells   []string // backquotes kept
}

func readPage(t *testing.T) page {
	t.Helper()
	raw, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{text: string(raw), tables: make(map[string][]pageRow)}
	section, table := "", ""
	for line := range strings.SplitSeq(p.text, "\n") {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			section = title
		}
		if !strings.HasPrefix(line, "|") {
			table = ""
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		switch {
		case strings.HasPrefix(cells[0], "---"):
		case table == "":
			table = strings.Join(cells, ", ")
		default:
			p.tables[table] = append(p.tables[table], pageRow{section, cells})
		}
	}
	return p
}

// names reads a list of members, `a, b?`, into what they are called and whether they
// may be absent.
func names(cell string) map[string]bool {
	optional := make(map[string]bool)
	cell = strings.Trim(cell, "`{}–")
	if cell == "" {
		return optional
	}
	for name := range strings.SplitSeq(cell, ",") {
		name, mark := strings.CutSuffix(strings.TrimSpace(name), "?")
		optional[name] = mark
	}
	return optional
}

func memberNames(s *schema) map[string]bool {
	optional := make(map[string]bool)
	if s == nil {
		return optional
	}
	for _, m := range s.members {
		optional[m.name] = m.optional
	}
	return optional
}

func TestPageMethods(t *testing.T) {
	r := newTestRegistry(t)
	rows := readPage(t).tables["method, scope, params, result"]
	told := make(map[string]bool)
	for _, row := range rows {
		name := strings.Trim(row.cells[0], "`")
		told[name] = true
		m, ok := r.Lookup(name)
		if !ok {
			t.Errorf("the page has %s, the registry does not", name)
			continue
		}
		if row.cells[1] != m.Scope.String() {
			t.Errorf("%s: the page says scope %s, the registry %s", name, row.cells[1], m.Scope)
		}
		if diff := cmp.Diff(memberNames(r.params[m.Params]), names(row.cells[2])); diff != "" {
			t.Errorf("params of %s (-registry +page):\n%s", name, diff)
		}
		if name == MethodDiscover {
			continue
		}
		if diff := cmp.Diff(memberNames(r.schemas[m.Result]), names(row.cells[3])); diff != "" {
			t.Errorf("result of %s (-registry +page):\n%s", name, diff)
		}
	}
	for _, m := range r.Methods() {
		if !told[m.Name] {
			t.Errorf("the page lacks %s", m.Name)
		}
	}
	if len(rows) != len(r.Methods()) {
		t.Errorf("the page has %d rows for %d methods", len(rows), len(r.Methods()))
	}
}

// TestPageTypes: each table of members stands under the name of its type, and every
// type of the contract that is no method's params or result has one.
func TestPageTypes(t *testing.T) {
	r := newTestRegistry(t)
	byName := make(map[string]*schema)
	for typ, s := range r.schemas {
		byName[typ.Name()] = s
	}
	for _, m := range r.Methods() {
		delete(byName, m.Params.Name())
		delete(byName, m.Result.Name())
	}
	for _, e := range Events() {
		if strings.HasSuffix(e.Data.Name(), "Data") {
			delete(byName, e.Data.Name()) // in the table of events
		}
	}
	delete(byName, "wireBlock") // told in words, under Content

	page := readPage(t)
	told := make(map[string]map[string]bool)
	for _, table := range []string{"member, what it is", "member, default, what it bounds"} {
		for _, row := range page.tables[table] {
			if told[row.section] == nil {
				told[row.section] = make(map[string]bool)
			}
			maps.Copy(told[row.section], names(row.cells[0]))
		}
	}
	for name, s := range byName {
		if diff := cmp.Diff(memberNames(s), told[name]); diff != "" {
			t.Errorf("%s (-registry +page):\n%s", name, diff)
		}
		delete(told, name)
	}
	if len(told) > 0 {
		t.Errorf("the page describes what is no type: %v", slices.Sorted(maps.Keys(told)))
	}
}

// TestPageEnums: a member whose values are a closed set names all of them, and no
// other, in its row.
func TestPageEnums(t *testing.T) {
	r := newTestRegistry(t)
	page := readPage(t)
	quoted := regexp.MustCompile("`([a-z_]+)`")
	checked := 0
	for _, row := range page.tables["member, what it is"] {
		for typ, s := range r.schemas {
			i, ok := s.index[strings.Trim(row.cells[0], "`?")]
			if typ.Name() != row.section || !ok {
				continue
			}
			m := s.members[i].schema
			if m.enum == nil || m.typ == reflect.TypeFor[Kind]() || m.typ == reflect.TypeFor[EventType]() {
				continue // these have tables of their own
			}
			var told []string
			for _, match := range quoted.FindAllStringSubmatch(row.cells[1], -1) {
				if match[1] != "not_found" {
					told = append(told, match[1])
				}
			}
			if diff := cmp.Diff(m.enum, told); diff != "" {
				t.Errorf("%s.%s (-registry +page):\n%s", row.section, row.cells[0], diff)
			}
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("only %d members with closed sets found", checked)
	}
	for _, choice := range slices.Concat(
		WhenBusy("").enum(), EventFilter("").enum()[1:], TurnOutcome("").enum(), ResolvedBy("").enum(),
		AttachmentKind("").enum(), ClearReason("").enum(), WarningKind("").enum(),
	) {
		if !strings.Contains(page.text, "`"+choice+"`") && !strings.Contains(page.text, `"`+choice+`"`) {
			t.Errorf("the page does not name %s", choice)
		}
	}
}

func TestPageNotificationsAndEvents(t *testing.T) {
	r := newTestRegistry(t)
	page := readPage(t)
	var got, want [][]string
	for _, row := range page.tables["notification, lossy, params"] {
		got = append(got, row.cells)
	}
	for _, n := range Notifications() {
		name := n.Params.Name()
		want = append(want, []string{"`" + n.Name + "`", yesNo(n.Lossy), "[" + name + "](#" + strings.ToLower(name) + ")"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notifications (-registry +page):\n%s", diff)
	}

	type event struct {
		Type, Link string
		Data       map[string]bool
	}
	var gotEvents, wantEvents []event
	for _, row := range page.tables["type, data, what happened"] {
		told := event{Type: strings.Trim(row.cells[0], "`")}
		if strings.HasPrefix(row.cells[1], "[") {
			told.Link = row.cells[1]
		} else {
			told.Data = names(row.cells[1])
		}
		gotEvents = append(gotEvents, told)
	}
	for _, e := range Events() {
		name := e.Data.Name()
		if strings.HasSuffix(name, "Data") {
			wantEvents = append(wantEvents, event{Type: string(e.Type), Data: memberNames(r.schemas[e.Data])})
		} else { // told elsewhere
			wantEvents = append(wantEvents, event{Type: string(e.Type), Link: "[" + name + "](#" + strings.ToLower(name) + ")"})
		}
	}
	if diff := cmp.Diff(wantEvents, gotEvents); diff != "" {
		t.Errorf("events (-registry +page):\n%s", diff)
	}
}

func TestPageErrors(t *testing.T) {
	page := readPage(t)
	var got, want [][]string
	for _, row := range page.tables["code, kind, retry, when"] {
		got = append(got, row.cells[:3])
	}
	for _, k := range Kinds() {
		want = append(want, []string{strconv.Itoa(k.Code), "`" + string(k.Kind) + "`", yesNo(k.Retryable)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("own errors (-registry +page):\n%s", diff)
	}
	var standard []string
	for _, row := range page.tables["code, meaning, data"] {
		standard = append(standard, row.cells[0])
	}
	var codes []string
	for _, code := range []int{CodeParseError, CodeInvalidRequest, CodeMethodNotFound, CodeInvalidParams, CodeInternalError, CodeCancelled} {
		codes = append(codes, strconv.Itoa(code))
	}
	if diff := cmp.Diff(codes, standard); diff != "" {
		t.Errorf("standard errors (-registry +page):\n%s", diff)
	}
}

func TestPageLimits(t *testing.T) {
	got := make(map[string]int64)
	for _, row := range readPage(t).tables["member, default, what it bounds"] {
		n, err := strconv.ParseInt(row.cells[1], 10, 64)
		if err != nil {
			t.Error(err)
		}
		got[strings.Trim(row.cells[0], "`?")] = n
	}
	want, err := limitsByName(DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-registry +page):\n%s", diff)
	}
}

func TestPageLinksLeadSomewhere(t *testing.T) {
	page := readPage(t)
	anchors := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page.text, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(page.text, -1) {
		if !anchors[m[1]] {
			t.Errorf("link to #%s leads nowhere", m[1])
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
