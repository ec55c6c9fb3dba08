#!/bin/sh
# Stands for the real program; nothing below another root is ever run.
