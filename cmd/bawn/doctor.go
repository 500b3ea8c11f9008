package main

func doctorCommand(args []string) int { return usageError(nil) }
