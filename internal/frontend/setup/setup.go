// Package setup connects AI coding agents to bawn: it adds its entries to
// their settings, keeps what people wrote there, and can take all of it back.
package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

const (
	maxFile    = 4 << 20 // of a file that is changed, in bytes
	maxRecord  = 64 << 20
	recordName = "setup.json" // in bawn's state
)

// Change is one file: what is there, and what setup makes of it.
type Change struct {
	Path   string // as the agent names it
	Before []byte // nil if there is no file
	After  []byte // nil if there is none then
	real   string // with links followed
	root   string // the folder that real stays in, through no link; "" is none
	perm   uint32
	bare   []byte // Before without setup's part
}

// Changed reports whether there is anything to write.
func (c Change) Changed() bool {
	return !bytes.Equal(c.Before, c.After) || (c.Before == nil) != (c.After == nil)
}

// done is what a record keeps of a change.
type done struct {
	Path   string
	Real   string
	Perm   uint32
	Before []byte // nil: there was no file
	After  []byte
	Made   []string // folders that were made for it, the deepest first
}

// records are all set-ups, by agent and project; and the user's settings,
// which all of them share.
type records struct {
	Agents   map[string][]done
	Settings *done `json:",omitempty"`
}

// Store keeps the records, in bawn's own state folder.
type Store struct{ Dir string }

func key(a *Agent, p Place) string {
	if p.Project == "" {
		return a.Name
	}
	return a.Name + " " + p.Project
}

// Held is a Store while no other set-up can change anything.
type Held struct {
	Store
	dir    *disk.Dir
	all    records
	unlock func()
}

// Hold keeps other set-ups out until Close: a plan that is made before another
// has ended would be of files as they no longer are.
func (s Store) Hold() (*Held, error) {
	d, err := disk.Make(s.Dir)
	if err != nil {
		return nil, err
	}
	unlock, err := d.Lock()
	if err != nil {
		d.Close()
		return nil, err
	}
	r := records{Agents: map[string][]done{}}
	data, _, err := d.Read(recordName, maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
	default:
		if json.Unmarshal(data, &r) != nil || r.Agents == nil {
			err = fmt.Errorf("%s is damaged; mend or remove it", filepath.Join(s.Dir, recordName))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		unlock()
		d.Close()
		return nil, err
	}
	return &Held{s, d, r, unlock}, nil
}

// Close lets the next set-up begin.
func (s *Held) Close() {
	s.unlock()
	s.dir.Close()
}

// Empty reports whether no agent is set up.
func (s *Held) Empty() bool { return len(s.all.Agents) == 0 }

func (s *Held) save(r records) error {
	s.all = r
	if len(r.Agents) == 0 && r.Settings == nil {
		s.dir.Sweep(recordName)
		if err := os.Remove(filepath.Join(s.Dir, recordName)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return s.dir.Replace(recordName, data, 0o600)
}

// Plan says what a set-up would change, and changes nothing. settings is the
// user's file of bawn's settings, in which enabled becomes true: to set an
// agent up is to ask for the sandbox (SPEC T2).
func Plan(a *Agent, p Place, settings string) ([]Change, error) {
	if p.Project != "" && !a.project {
		return nil, &policy.RefusedError{What: "--project", Why: a.Title + " reads this from the user's settings alone", Lift: "leave it out"}
	}
	files := append(a.placed(p), switches(settings))
	var out []Change
	for _, f := range files {
		c, err := f.change(f.edit)
		if err == nil && c.Before != nil {
			c.bare, err = f.strip(c.Before)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// placed are an agent's files, those of a project held to it.
func (a *Agent) placed(p Place) []file {
	files := a.files(p)
	for i := range files {
		if p.Project != "" && policy.Inside(files[i].path, p.Project) {
			files[i].root = p.Project
		}
	}
	return files
}

// switches is the user's file of bawn's settings.
func switches(path string) file {
	set := func(on bool) func([]byte) ([]byte, error) {
		return func(old []byte) ([]byte, error) { return config.SetEnabled(old, on, path) }
	}
	return file{path: path, edit: set(true), strip: set(false)}
}

// change reads a file and edits it.
func (f file) change(edit func([]byte) ([]byte, error)) (Change, error) {
	c := Change{Path: f.path, real: f.path, root: f.root, perm: 0o644}
	refuse := func(err error) (Change, error) {
		return Change{}, &policy.RefusedError{What: fmt.Sprintf("%q", f.path), Why: "it is not changed: " + err.Error()}
	}
	if real, err := filepath.EvalSymlinks(f.path); err == nil {
		c.real = real
	} else if _, err := os.Lstat(f.path); err == nil {
		return refuse(errors.New("it is a link to nothing"))
	}
	// Whoever wrote the project does not choose which of the user's files is
	// changed, and then taken away.
	if c.root != "" {
		real, err := deepest(c.real)
		if err == nil && !policy.Inside(real, c.root) {
			err = fmt.Errorf("a link of the project leads out of it, to %q", real)
		}
		if err != nil {
			return refuse(err)
		}
		c.real = real
	}
	data, in, err := c.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return refuse(err)
	default:
		if err := in.OnlyOwners(os.Geteuid()); err != nil {
			return refuse(err)
		}
		c.Before, c.perm = data, in.Perm
		if c.Before == nil {
			c.Before = []byte{}
		}
	}
	if c.After, err = edit(c.Before); err != nil {
		return refuse(err)
	}
	return c, nil
}

// deepest is a path with the links of what is there of it followed.
func deepest(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%q is a link to nothing", path)
	}
	real, err = deepest(filepath.Dir(path))
	return filepath.Join(real, filepath.Base(path)), err
}

func readFile(path string) ([]byte, disk.Info, error) {
	d, err := disk.Open(filepath.Dir(path))
	if err != nil {
		return nil, disk.Info{}, err
	}
	defer d.Close()
	return d.Read(filepath.Base(path), maxFile)
}

// folder opens the folder of the file. Below a root no link is followed, also
// one that was put there since.
func (c Change) folder(make bool) (*disk.Dir, error) {
	dir := filepath.Dir(c.real)
	if c.root == "" {
		if make {
			if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- settings that others may read
				return nil, err
			}
		}
		return disk.Open(dir)
	}
	d, err := disk.OpenPlain(c.root)
	rel, relErr := filepath.Rel(c.root, dir)
	if err == nil && relErr != nil {
		d.Close()
		return nil, relErr
	}
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if err != nil || name == "." {
			break
		}
		up := d
		if make {
			d, err = up.MakeSub(name)
		} else {
			d, err = up.Sub(name)
		}
		up.Close()
	}
	return d, err
}

func (c Change) read() ([]byte, disk.Info, error) {
	d, err := c.folder(false)
	if err != nil {
		return nil, disk.Info{}, err
	}
	defer d.Close()
	return d.Read(filepath.Base(c.real), maxFile)
}

// write makes a change, unless the file is another meanwhile.
func (c Change) write() error {
	same := func() error {
		now, _, err := c.read()
		if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, c.Before) {
			return fmt.Errorf("%q was changed meanwhile; nothing was done to it", c.Path)
		}
		return nil
	}
	if err := same(); err != nil { // before a folder is made
		return err
	}
	d, err := c.folder(c.After != nil)
	if err != nil {
		return err
	}
	defer d.Close()
	name := filepath.Base(c.real)
	if c.After == nil {
		return d.Remove(name)
	}
	return d.ReplaceIf(name, c.After, c.perm, same)
}

// missing are the folders that a change would make, the deepest first.
func (c Change) missing() (out []string) {
	for d := filepath.Dir(c.real); d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil {
			break
		}
		out = append(out, d)
	}
	return out
}

// note is what the record says of a change; old is what it said before, of a
// file that was set up already. If somebody changed that since, or the set-up was
// killed, what was before is what is there, without setup's part.
func (c Change) note(old *done) done {
	x := done{Path: c.Path, Real: c.real, Perm: c.perm, Before: c.bare, After: c.After, Made: c.missing()}
	if old == nil {
		return x
	}
	if bytes.Equal(old.After, c.Before) {
		x.Before, x.Perm = old.Before, old.Perm
	}
	for _, dir := range old.Made {
		if !slices.Contains(x.Made, dir) {
			x.Made = append(x.Made, dir)
		}
	}
	return x
}

// noted are the records with a plan in them.
func (s *Held) noted(a *Agent, p Place, changes []Change) records {
	r := s.all
	next := records{Agents: maps.Clone(r.Agents), Settings: r.Settings}
	settings := changes[len(changes)-1]
	if settings.Changed() || r.Settings != nil { // else somebody else enabled it
		if r.Settings == nil {
			settings.bare = settings.Before
		}
		x := settings.note(r.Settings)
		next.Settings = &x
	}
	var list []done
	for _, c := range changes[:len(changes)-1] {
		list = append(list, c.note(find(r.Agents[key(a, p)], c.Path)))
	}
	next.Agents[key(a, p)] = list
	return next
}

// Apply makes the changes of a plan, and notes how to take them back before
// the first is made. verify is asked once all are there; if it fails, all are
// taken back.
func (s *Held) Apply(a *Agent, p Place, changes []Change, verify func() error) (err error) {
	r := s.all
	if err := s.save(s.noted(a, p, changes)); err != nil {
		return err
	}
	var written []Change
	var made [][]string // by the same order
	for _, c := range changes {
		if err == nil && c.Changed() {
			missing := c.missing()
			if err = c.write(); err == nil {
				written, made = append(written, c), append(made, missing)
			} else {
				emptied(missing)
			}
		}
	}
	if err == nil {
		if err = verify(); err == nil {
			return nil
		}
		err = fmt.Errorf("the set-up does not work and was taken back: %w", err)
	}
	for i, c := range slices.Backward(written) {
		c.Before, c.After = c.After, c.Before
		err = errors.Join(err, c.write())
		emptied(made[i])
	}
	return errors.Join(err, s.save(r))
}

func find(list []done, path string) *done {
	for i := range list {
		if list[i].Path == path {
			return &list[i]
		}
	}
	return nil
}

// Has reports whether an agent is set up, for the user or for a project. A
// record that cannot be read has none.
func (s Store) Has(agent, project string) bool {
	d, err := disk.Open(s.Dir)
	if err != nil {
		return false
	}
	defer d.Close()
	var r records
	data, _, err := d.Read(recordName, maxRecord)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return false
	}
	return len(r.Agents[agent]) > 0 || len(r.Agents[agent+" "+project]) > 0
}

// Added are the lines that a change adds, for a person to read. What is secret
// in the rest of the file is not shown.
func (c Change) Added() (out []string) {
	have := map[string]int{}
	for line := range strings.Lines(string(c.Before)) {
		have[strings.TrimRight(line, "\r\n,")]++
	}
	for line := range strings.Lines(string(c.After)) {
		bare := strings.TrimRight(line, "\r\n,")
		if have[bare] > 0 {
			have[bare]--
			continue
		}
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}
