#!/bin/sh
# stands for the program; nothing runs it
