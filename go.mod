module bawn

go 1.26.0

require (
	github.com/pelletier/go-toml/v2 v2.4.3
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.50.0
	mvdan.cc/sh/v3 v3.14.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	golang.org/x/text v0.43.0 // indirect
)
